import type { MeasuredSummary } from '../record/figures.js';
import { writeErr } from '../text/terminal.js';

/** Says on stderr that a run had no request to measure: rates of 0 look like a failure of the server. */
export function warnIfEmpty({ requests }: Pick<MeasuredSummary, 'requests'>): void {
  if (requests.offered > 0) return;
  writeErr(
    'warning: no request was offered after the warm-up; raise the rate or the duration, or shorten the warm-up\n',
  );
}
