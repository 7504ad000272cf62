import { wrap } from './wrap.js';

/** Columns that help and messages may use. */
export function terminalWidth(): number {
  return Math.min(110, process.stdout.columns ?? 80);
}

/** Columns of the terminal that stdout is, or the value of COLUMNS; undefined where there is none, as in a pipe. */
export function tableWidth(): number | undefined {
  const { columns, isTTY } = process.stdout;
  if (columns > 0) return columns;
  const given = Number(process.env.COLUMNS);
  if (Number.isInteger(given) && given > 0) return given;
  return isTTY ? 80 : undefined;
}

/**
 * Lines of at most `columns` with `text` wrapped at the right of `label`:
 *
 *     label   the text, which
 *             goes on here
 *
 * `indent` is where the text begins.
 */
export function hanging(label: string, text: string, indent: number, columns: number): string[] {
  return wrap(text, columns - indent).map((line, i) => `${(i === 0 ? label : '').padEnd(indent)}${line}`);
}
