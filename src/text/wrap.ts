import { textWidth } from './text-width.js';

/** Width of text for the terminal. */
export const COLUMNS = 80;

/** Breaks between words, but not between a number and its unit. */
const BREAK = / (?!%|ms\b)/;

/** Breaks a text between words into lines of at most `columns` characters. */
export function wrap(text: string, columns: number): string[] {
  return pack(text.split(BREAK), ' ', (line) => line.length <= columns);
}

const SEPARATOR = ' · ';

/**
 * Breaks `a · b · c` between its parts into lines of at most `widthPx`, so that no line continues a part. A part wider
 * than a line is broken between words.
 */
export function wrapParts(text: string, fontSize: number, widthPx: number): string[] {
  const fits = (line: string) => textWidth(line, fontSize) <= widthPx;
  return pack(text.split(SEPARATOR), SEPARATOR, fits).flatMap((line) => pack(line.split(BREAK), ' ', fits));
}

/** Fills lines with as many pieces as fit; a longer piece gets its own line. */
function pack(pieces: readonly string[], separator: string, fits: (line: string) => boolean): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const longer = `${lines.at(-1)}${separator}${piece}`;
    if (lines.length > 0 && fits(longer)) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}
