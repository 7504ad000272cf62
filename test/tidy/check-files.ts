import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { lineOf, parse, ROOT, SOURCES, TESTS, trackedFiles, walk } from './sources.js';

const MOST_FUNCTION_LINES = 70;
/** A chart is one specification: an object literal reads no better in parts. */
const MOST_CHART_LINES = 120;
const MOST_BINARY_BYTES = 200_000;

describe('files', () => {
  it('hold no unfinished marks', () => {
    const mark = /\b(?:TODO|FIXME|XXX|HACK)\b/;
    // This file has to name them.
    const files = [...SOURCES, ...TESTS].filter(({ fileName }) => fileName !== 'test/tidy/check-files.ts');
    expect(files.filter(({ text }) => mark.test(text)).map(({ fileName }) => fileName)).toEqual([]);
  });

  it(`are at most ${MOST_BINARY_BYTES / 1000} kB where they are binary`, () => {
    const binaries = trackedFiles()
      .map((file) => ({ file, bytes: sizeOf(file) }))
      .filter(({ file, bytes }) => bytes > MOST_BINARY_BYTES && isBinary(readFileSync(join(ROOT, file))));
    expect(binaries).toEqual([]);
    expect(isBinary(Buffer.from('é, “text”\n'))).toBe(false);
    expect(isBinary(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]))).toBe(true);
  });
});

describe('functions', () => {
  it(`are at most ${MOST_FUNCTION_LINES} lines long`, () => {
    expect(SOURCES.flatMap(longFunctions)).toEqual([]);
  });

  it('are measured from head to end, a chart by a longer ruler', () => {
    const body = (lines: number) =>
      `export const f = () => {\n${'  work();\n'.repeat(lines - 2)}};\nclass A { m() {\n${'\n'.repeat(lines - 2)}} }`;
    const found = (path: string, lines: number) => longFunctions(parse(path, body(lines)));
    expect(found('src/live/a.ts', MOST_FUNCTION_LINES)).toEqual([]);
    expect(found('src/live/a.ts', MOST_FUNCTION_LINES + 1)).toEqual([
      'src/live/a.ts:1: 71 lines',
      'src/live/a.ts:72: 71 lines',
    ]);
    expect(found('src/report/charts/a.ts', MOST_FUNCTION_LINES + 1)).toEqual([]);
    expect(found('src/report/charts/a.ts', MOST_CHART_LINES + 1)).toHaveLength(2);
  });
});

/** Zero for what was deleted and not yet committed. */
function sizeOf(file: string): number {
  return statSync(join(ROOT, file), { throwIfNoEntry: false })?.size ?? 0;
}

/** Text has no zero bytes. */
function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

function longFunctions(source: ts.SourceFile): string[] {
  const most = source.fileName.startsWith('src/report/charts/') ? MOST_CHART_LINES : MOST_FUNCTION_LINES;
  const found: string[] = [];
  walk(source, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
    const lines = source.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(node);
    if (lines > most) found.push(`${source.fileName}:${lineOf(node)}: ${lines} lines`);
  });
  return found;
}
