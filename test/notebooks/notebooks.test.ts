import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runSnippet, typeErrors } from '../snippets.js';
import {
  checkable,
  comparable,
  comparableOutputs,
  NOTEBOOKS,
  notebookFiles,
  type Output,
  outputsOf,
  readCells,
  runnable,
} from './notebook.js';

describe.each(notebookFiles())('%s', (name) => {
  const cells = readCells(join(NOTEBOOKS, name));

  it('is committed as it came out of one run from top to bottom', () => {
    expect(cells.map((cell) => cell.execution_count)).toEqual(cells.map((_, i) => i + 1));
    expect(cells.flatMap(outputsOf).filter(({ output_type: type }) => type === 'error')).toEqual([]);
    // Times of execution and names of machines would change with every run.
    expect(cells.flatMap(({ metadata }) => Object.keys(metadata))).toEqual([]);
  });
});

describe.each(notebookFiles('typescript'))('%s', (name) => {
  const cells = readCells(join(NOTEBOOKS, name));

  it('passes the type checker', () => {
    expect(typeErrors(checkable(cells))).toEqual([]);
  });

  it('shows in Node what is committed', () => {
    const { status, stdout, stderr } = runSnippet(runnable(cells), NOTEBOOKS);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const outputs = JSON.parse(stdout) as Output[][];
    expect(outputs.map((cell) => cell.map(comparable))).toEqual(cells.map(comparableOutputs));
  });
});

describe('the schedule-ahead notebook', () => {
  const text = readFileSync(join(NOTEBOOKS, 'schedule-ahead.ipynb'), 'utf8');

  it('shows its two charts and finds the gain of tuning', () => {
    const pictures = readCells(join(NOTEBOOKS, 'schedule-ahead.ipynb'))
      .flatMap(outputsOf)
      .filter(({ data }) => data?.['image/png'] !== undefined);
    expect(pictures).toHaveLength(2);
    const gain = /\| 10ms \|.*\| ([\d.]+) × \|/.exec(text);
    expect(Number(gain?.[1])).toBeGreaterThanOrEqual(5);
  });
});
