import { printable } from '../base/printable.js';

type Cell = string | number;

/**
 * Rows as aligned columns two spaces apart, a line each; the first row is the header. `left` are the columns of texts,
 * counted from 0, the last ones as -1, -2, …; all others are numbers, aligned to the right. Without `left`, a column
 * is of numbers if a cell of it is one.
 */
export function alignColumns(
  rows: readonly (readonly Cell[])[],
  left: readonly number[] = textColumns(rows),
): string[] {
  const columns = rows[0]?.length ?? 0;
  // Names of others must not end a line, or be wider than they are.
  const texts = rows.map((row) => row.map((cell) => printable(String(cell))));
  const isLeft = (column: number) => left.includes(column) || left.includes(column - columns);
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const align = (text: string, column: number) =>
    isLeft(column) ? text.padEnd(widths[column]!) : text.padStart(widths[column]!);
  return texts.map((row) => row.map(align).join('  ').trimEnd());
}

/** The same as one text, in which each line ends. */
export function table(rows: readonly (readonly Cell[])[], left?: readonly number[]): string {
  return alignColumns(rows, left)
    .map((line) => `${line}\n`)
    .join('');
}

function textColumns(rows: readonly (readonly Cell[])[]): number[] {
  const columns = [...(rows[0] ?? []).keys()];
  return columns.filter((column) => rows.every((row) => typeof row[column] !== 'number'));
}
