import { printable } from '../base/printable.js';

type Cell = string | number;

/**
 * Rows as aligned columns two spaces apart, one line each; the first row is the header. `left` are the text columns,
 * counted from 0, or from the end as -1, -2, …; all others are numbers, aligned to the right. Without `left`, a column
 * is numeric if any cell is a number.
 */
export function alignColumns(
  rows: readonly (readonly Cell[])[],
  left: readonly number[] = textColumns(rows),
): string[] {
  const columns = rows[0]?.length ?? 0;
  // Names from outside must not end a line, or look wider than they are.
  const texts = rows.map((row) => row.map((cell) => printable(String(cell))));
  const isLeft = (column: number) => left.includes(column) || left.includes(column - columns);
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const align = (text: string, column: number) =>
    isLeft(column) ? text.padEnd(widths[column]!) : text.padStart(widths[column]!);
  return texts.map((row) => row.map(align).join('  ').trimEnd());
}

/** The aligned rows as one text, every line ending in a newline. */
export function table(rows: readonly (readonly Cell[])[], left?: readonly number[]): string {
  return alignColumns(rows, left)
    .map((line) => `${line}\n`)
    .join('');
}

function textColumns(rows: readonly (readonly Cell[])[]): number[] {
  const columns = [...(rows[0] ?? []).keys()];
  return columns.filter((column) => rows.every((row) => typeof row[column] !== 'number'));
}
