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

export function notAllThere(missing: readonly string[], timeoutNs: number): EscapementError {
  return new EscapementError(
    'E_WORKER',
    `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
  );
}
