import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { Time } from '../../base/world/time.js';
import { within } from '../within.js';
import { isPresent, type Member } from './member.js';
import type { Until } from './until.js';

/** What a fleet waits for before it makes a cluster of those that are there. */
export interface Patience {
  /** Rejects if fewer are there then; null: waits as long as it takes. */
  readonly timeoutNs: number | null;
  /** So many have to be there. Default: all. */
  readonly minWorkers?: number;
  /** Once they are, the others have this much more time. */
  readonly graceNs?: number;
}

/** Resolves when enough of the members, of which more may come, are there. Rejects with `E_WORKER`. */
export async function enoughInTime(
  members: readonly Member[],
  changes: Until,
  { timeoutNs, minWorkers = members.length, graceNs = 0 }: Patience,
  time: Time,
): Promise<void> {
  const enough = changes.holds(() => members.filter(isPresent).length >= minWorkers);
  if (timeoutNs === null) await enough;
  else if (!(await within(time, enough, timeoutNs))) {
    const missing = members.filter((each) => !isPresent(each)).map(({ link }) => link.name);
    throw notAllThere(missing, timeoutNs);
  }
  if (graceNs > 0)
    await within(
      time,
      changes.holds(() => members.every(isPresent)),
      graceNs,
    );
}

function notAllThere(missing: readonly string[], timeoutNs: number): EscapementError {
  return new EscapementError(
    'E_WORKER',
    `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
  );
}
