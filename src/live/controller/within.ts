import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';

/** What a fleet waits for before it makes a cluster of those that are there. */
export interface Patience {
  /** Rejects if fewer are there then. */
  readonly timeoutNs: number;
  /** So many have to be there. Default: all. */
  readonly minWorkers?: number;
  /** Once they are, the others have this much more time. */
  readonly graceNs?: number;
}

/** Whether it happens in that time. */
export async function within(happens: Promise<void>, timeoutNs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutNs / NS_PER_MS);
  });
  const happened = await Promise.race([happens.then(() => true), tooLate]);
  clearTimeout(timer);
  return happened;
}

export function notAllThere(missing: readonly string[], timeoutNs: number): EscapementError {
  return new EscapementError(
    'E_WORKER',
    `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
  );
}
