/**
 * Rows as aligned columns: numbers to the right, texts to the left. The first row is the header; a column
 * is numeric when the last row holds a number in it.
 */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const last = rows[rows.length - 1] ?? [];
  const widths = last.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows
    .map((row) =>
      row.map((cell, column) => align(cell, widths[column]!, typeof last[column] === 'number')).join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function align(cell: string | number, width: number, right: boolean): string {
  return right ? String(cell).padStart(width) : String(cell).padEnd(width);
}

/** Columns that help and messages may use. */
export function terminalWidth(): number {
  return Math.min(110, process.stdout.columns ?? 80);
}
