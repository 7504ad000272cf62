import { expect } from 'vitest';

/** Rows of a table of text: a line each, with bars between the cells. `\n` in a cell is a line break. */
export function rowsOf(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim().replaceAll('\\n', '\n')));
}

/** What a cell expects: its text, or what matches it if it is a pattern between slashes. */
export function expected(cell: string | undefined): unknown {
  const [, pattern] = /^\/(.*)\/$/s.exec(cell ?? '') ?? [];
  return pattern === undefined ? cell : expect.stringMatching(new RegExp(pattern));
}
