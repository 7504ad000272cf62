import { readFileSync } from 'node:fs';

/** Linux: time on a core, time in the queue for one, time slices of the thread that reads it, ns. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

/**
 * How long this thread has been ready to run without a core, since its start, ns. Null if the system does not report
 * it.
 */
export function threadWaitNs(): number | null {
  let text: string;
  try {
    text = readFileSync(SCHEDSTAT, 'utf8');
  } catch {
    return null;
  }
  return parseWaitNs(text);
}

/** The second of the three numbers of `schedstat`; null for anything else. */
export function parseWaitNs(text: string): number | null {
  const waitNs = /^\d+ (\d+) \d+\s*$/.exec(text)?.[1];
  return waitNs === undefined ? null : Number(waitNs);
}
