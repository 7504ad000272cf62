import Papa from 'papaparse';
import { printable } from '../base/printable.js';

type Cell = string | number | null;

/** Formula prefix as spreadsheets recognize it; a signed number is none. */
const FORMULA = /^(?![+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$)[=+\-@\uff1d\uff0b\uff0d\uff20]/i;

/** A table as CSV, with a header, every line ending in a newline. Spreadsheets execute no text in it as a formula. */
export function csvText(fields: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const data = rows.map((row) => row.map(plain));
  return `${Papa.unparse({ fields: fields.map(plain), data }, { newline: '\n' })}\n`;
}

function plain<T extends Cell>(cell: T): T | string {
  if (typeof cell !== 'string') return cell;
  const text = printable(cell);
  return FORMULA.test(text) ? `'${text}` : text;
}
