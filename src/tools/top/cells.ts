/**
 * Texts in cells of a terminal: ideographs and pictures take two cells, combining marks none. Widths are those of
 * Unicode's EastAsianWidth (wide and fullwidth); where terminals disagree, the wider counts.
 */
import { eastAsianWidth } from 'get-east-asian-width';

/** Pictures of which Unicode has some narrow, and terminals draw many wide. */
const PICTURES: readonly (readonly [number, number])[] = [
  [0x2600, 0x27bf],
  [0x1f1e6, 0x1f6ff],
];
const ASCII = /^[\x20-\x7e]*$/;
/** Joiners, directions and variants: nothing that one sees by itself. */
const INVISIBLE = /\p{Cf}|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;
/** Control characters move the cursor or worse; the width of the others is undefined. */
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
  return PICTURES.some(([first, last]) => code >= first && code <= last) ? 2 : eastAsianWidth(code);
}
