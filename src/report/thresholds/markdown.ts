import { plural } from '../../text/words.js';
import type { ThresholdCase } from './cases.js';
import type { ThresholdReport } from './junit.js';

/** A job summary shows no more than a megabyte: beyond this many rows, only missed thresholds. */
const MAX_ROWS = 500;

/** A Markdown section: number of thresholds that hold, and a table by threshold and run, missed ones first. */
export function thresholdsMarkdown({ command, name, cases }: ThresholdReport): string {
  const missed = cases.filter(({ ok }) => !ok);
  const rows = [...missed, ...cases.filter(({ ok }) => ok)];
  const several = cases.some(({ run }) => run !== '');
  const head = ['', 'Threshold', 'Measured', ...(several ? ['Run'] : [])];
  return [
    `### escapement ${command}: ${markdown(name)}`,
    '',
    verdictOf(cases.length, missed.length),
    '',
    line(head),
    line(head.map(() => '---')),
    ...rows.slice(0, MAX_ROWS).map((one) => line(cellsOf(one, several))),
    ...(rows.length > MAX_ROWS ? ['', `… and ${rows.length - MAX_ROWS} more.`] : []),
    '',
    '',
  ].join('\n');
}

function verdictOf(all: number, missed: number): string {
  if (all === 1) return missed === 0 ? '✓ The threshold is met.' : '✗ The threshold is missed.';
  return missed === 0
    ? `✓ All ${all} thresholds are met.`
    : `✗ ${missed} of ${plural(all, 'threshold')} ${missed === 1 ? 'is' : 'are'} missed.`;
}

function cellsOf({ ok, threshold, measured, run, error }: ThresholdCase, several: boolean): string[] {
  const found = error === undefined ? measured : `failed: ${error}`;
  return [ok ? '✓' : '✗', ...[threshold, found, ...(several ? [run] : [])].map(markdown)];
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Escapes a text to appear unchanged on one line, even in a table. */
function markdown(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>|~#&]/g, (char) => `\\${char}`);
}
