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
  const isLeft = (column: number) => left.includes(column) || left.includes(column - columns);
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => String(row[column]).length)),
  );
  const align = (cell: Cell, column: number) =>
    isLeft(column) ? String(cell).padEnd(widths[column]!) : String(cell).padStart(widths[column]!);
  return rows.map((row) => row.map(align).join('  ').trimEnd());
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
