import { EscapementError } from '../../base/errors.js';

/** More controllers than anyone runs; a slip would simulate for hours. */
const MOST_CELLS = 1000;

/** Reads `--cells`: a number of cells, or several with commas between them, ascending. Throws `E_USAGE`. */
export function parseCounts(text: string): number[] {
  const counts = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  const wrong = counts.findIndex((count) => !(count >= 2 && count <= MOST_CELLS));
  if (wrong >= 0) {
    throw new EscapementError(
      'E_USAGE',
      `--cells ${text}: write how many cells, 2 to ${MOST_CELLS}, or several numbers to compare, e.g. 2,4,8`,
    );
  }
  return [...new Set(counts)].sort((a, b) => a - b);
}
