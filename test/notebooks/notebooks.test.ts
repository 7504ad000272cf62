import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runSnippet, typeErrors } from '../snippets.js';
import {
  type Cell,
  checkable,
  executeInJupyter,
  type Output,
  readCells,
  runnable,
  textOf,
  whyNoJupyter,
} from './notebook.js';

const FOLDER = join(ROOT, 'notebooks');
const noJupyter = whyNoJupyter();

describe.each(readdirSync(FOLDER).filter((name) => name.endsWith('.ipynb')))('%s', (name) => {
  const path = join(FOLDER, name);
  const cells = readCells(path);

  it('is committed as it came out of one run from top to bottom', () => {
    expect(cells.map((cell) => cell.execution_count)).toEqual(cells.map((_, i) => i + 1));
    expect(cells.flatMap(outputsOf).filter(({ output_type: type }) => type === 'error')).toEqual([]);
    // Times of execution and names of machines would change with every run.
    expect(cells.flatMap(({ metadata }) => Object.keys(metadata))).toEqual([]);
  });

  it('passes the type checker', () => {
    expect(typeErrors(checkable(cells))).toEqual([]);
  });

  it('shows in Node what it shows on paper', () => {
    const { status, stdout, stderr } = runSnippet(runnable(cells), FOLDER);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const outputs = JSON.parse(stdout) as Output[][];
    expect(outputs.map((cell) => cell.map(comparable))).toEqual(cells.map(comparableOutputs));
  });

  // On a busy machine the kernel at times says that a cell is done before it has sent what the cell shows; Jupyter
  // stops listening then, and the output is lost.
  const retry = 4;
  it('shows in Jupyter with the Deno kernel what it shows on paper', { retry }, ({ skip }) => {
    skip(noJupyter !== '', `${noJupyter}: the cells ran in Node only`);
    const dir = mkdtempSync(join(tmpdir(), 'escapement-notebook-'));
    try {
      const executed = readCells(executeInJupyter(path, dir));
      expect(executed.map(comparableOutputs)).toEqual(cells.map(comparableOutputs));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('the schedule-ahead notebook', () => {
  const text = readFileSync(join(FOLDER, 'schedule-ahead.ipynb'), 'utf8');

  it('shows its three charts and finds the gain of tuning', () => {
    const pictures = readCells(join(FOLDER, 'schedule-ahead.ipynb'))
      .flatMap(outputsOf)
      .filter(({ data }) => data?.['image/png'] !== undefined);
    expect(pictures).toHaveLength(3);
    const gain = /\| 10ms \|.*\| ([\d.]+) × \|/.exec(text);
    expect(Number(gain?.[1])).toBeGreaterThanOrEqual(5);
  });
});

function comparableOutputs(cell: Cell) {
  return outputsOf(cell).map(comparable);
}

function outputsOf(cell: Cell): readonly Output[] {
  return cell.outputs ?? [];
}

/** Texts as they are. Of a picture its size: the last bits of its pixels may depend on the machine. */
function comparable({ output_type: type, data = {}, text }: Output) {
  const shown = Object.entries(data).map(([mime, content]) => [
    mime,
    mime === 'image/png' ? pngSize(textOf(content)) : textOf(content),
  ]);
  return { type, text: textOf(text), shown };
}

/** Width and height from the header of a PNG in base64. */
function pngSize(base64: string): [number, number] {
  const bytes = Buffer.from(base64, 'base64');
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG');
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}
