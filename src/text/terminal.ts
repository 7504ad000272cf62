import { printable } from '../base/printable.js';
import { wrap } from './wrap.js';

/** Color sequences used by commands: `styleText` of Node with red, green, yellow, bold, dim and their ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin every color.
const COLORS = /(\u001b\[(?:0|1|2|22|31|32|33|39)m)/;

/** Writes to stdout. Names, messages and files from outside cannot inject control sequences. */
export function writeOut(text: string, { colors = false } = {}): void {
  process.stdout.write(colors ? text.split(COLORS).map(part).join('') : readable(text));
}

/** Writes to stderr, as `writeOut` does. */
export function writeErr(text: string): void {
  process.stderr.write(readable(text));
}

/** Writes warnings to stderr, one per line. */
export function warn(warnings: readonly string[]): void {
  for (const warning of warnings) writeErr(`warning: ${warning}\n`);
}

function readable(text: string): string {
  return printable(text, '\n\t');
}

/** Every other part is a color. */
function part(text: string, index: number): string {
  return index % 2 === 1 ? text : readable(text);
}

/** Columns available for help and messages. */
export function terminalWidth(): number {
  return Math.min(110, process.stdout.columns ?? 80);
}

/** Columns of the terminal on stdout, or the value of COLUMNS; undefined if neither exists, as in a pipe. */
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
