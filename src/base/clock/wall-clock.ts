/*
 * The only file that asks what time it is. Nothing that is scheduled, measured or simulated may depend on it: these
 * times are for names of files, and for what other machines date by the wall clock.
 */

/** Milliseconds since 1970, to the microsecond. Setting the machine's clock while the process runs changes nothing. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now();
}

/** A time since 1970 in UTC, for names of files, in which the later one sorts last: `2026-01-31-09-30-00-125`. */
export function fileStamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '-').slice(0, -1);
}

/** A date that something else has written, ms since 1970; null: it is none. */
export function unixMsOf(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? ms : null;
}

/** As HTTP writes it (RFC 9110, section 5.6.7). */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
