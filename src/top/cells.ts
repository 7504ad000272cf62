/**
 * Texts in cells of a terminal: ideographs and pictures take two, marks that are put onto a letter none. Widths are
 * those of Unicode's EastAsianWidth (wide and fullwidth); what terminals disagree on counts as the wider.
 */

/** Ranges of code points that take two cells. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x2329, 0x232a],
  [0x23e9, 0x23f3],
  [0x25fd, 0x25fe],
  [0x2600, 0x27bf],
  [0x2b1b, 0x2b1c],
  [0x2b50, 0x2b55],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18d08],
  [0x1aff0, 0x1b2fb],
  [0x1f004, 0x1f004],
  [0x1f0cf, 0x1f0cf],
  [0x1f18e, 0x1f18e],
  [0x1f191, 0x1f19a],
  [0x1f1e6, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7e0, 0x1f7f0],
  [0x1f90c, 0x1faff],
  [0x20000, 0x3fffd],
];
const ASCII = /^[\x20-\x7e]*$/;
/** Joiners, directions and variants: nothing that one sees by itself. */
const INVISIBLE = /\p{Cf}|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;
/** Control characters move the cursor or worse; of the others nobody knows the width. */
const UNSAFE = /\p{Cc}|\p{Cs}|\p{Co}|\p{Cn}|\p{Zl}|\p{Zp}/gu;
const NO_CELL = /[\p{Mn}\p{Me}]/u;

/** A text from elsewhere, with nothing in it that a terminal could take as a command. */
export function printable(text: string): string {
  return ASCII.test(text) ? text : text.replaceAll(INVISIBLE, '').replaceAll(UNSAFE, '?');
}

/** Cells that a printable text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const letter of text) width += cellsOf(letter);
  return width;
}

/** At most `columns` cells of a text; a text that is cut ends in an ellipsis. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const letter of text) {
    width += cellsOf(letter);
    if (width > columns - 1) break;
    kept += letter;
  }
  return columns < 1 ? '' : `${kept}…`;
}

/** Exactly `columns` cells. */
export function padEnd(text: string, columns: number): string {
  const short = cut(text, columns);
  return short + ' '.repeat(Math.max(0, columns - widthOf(short)));
}

export function padStart(text: string, columns: number): string {
  const short = cut(text, columns);
  return ' '.repeat(Math.max(0, columns - widthOf(short))) + short;
}

function cellsOf(letter: string): number {
  const code = letter.codePointAt(0) as number;
  if (code < 0x300) return 1;
  if (NO_CELL.test(letter)) return 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
