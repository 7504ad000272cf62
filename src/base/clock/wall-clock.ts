/**
 * The only file that reads the wall clock. Nothing scheduled, measured or simulated may depend on it: these times are
 * for file names and for exchange with other machines.
 */

/** Milliseconds since 1970, with microsecond resolution. Unaffected by later changes of the machine's clock. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Milliseconds until a time on the machine's clock that a library has set, such as the deadline of a gRPC call. */
export function msUntil(deadlineMs: number): number {
  return deadlineMs - Date.now();
}

/** Parses a date written by another program, ms since 1970; null if it is not a date. */
export function unixMsOf(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? ms : null;
}
