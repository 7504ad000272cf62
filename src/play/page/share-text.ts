import { formatPercent } from '../../text/numbers.js';

/** A share of one as a percentage whose sign stays on its line, after a narrow no-break space. */
export function shareText(share: number | null): string {
  return formatPercent(share).replace(' ', '\u202f');
}
