import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LogReader } from '../../../src/base/files/log-reader.js';
import { tempDir } from '../../cli/run-cli.js';

function logOf(text: string): string {
  const path = join(tempDir(), 'log.tsv');
  writeFileSync(path, text);
  return path;
}

it('finds columns by name, in the order asked for', () => {
  const log = new LogReader(logOf('a\tb\tc\n1\t2\t3\n-4\t0.25\t6e3\n'), ['c', 'a'], ['b', 'none']);
  expect(log.next()).toBe(true);
  expect([log.line, ...log.values]).toEqual([2, 3, 1, 2, Number.NaN]);
  expect(log.next()).toBe(true);
  expect([log.line, ...log.values]).toEqual([3, 6000, -4, 0.25, Number.NaN]);
  expect(log.next()).toBe(false);
  expect(log.next()).toBe(false);
  expect([log.has('b'), log.has('none')]).toEqual([true, false]);
});

it('reads as many lines as there are, exactly', () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => [i * 7_919, 1e15 + i, i / 8]);
  const log = new LogReader(logOf(`x\ty\tz\n${rows.map((row) => row.join('\t')).join('\n')}\n`), [
    'x',
    'y',
    'z',
  ]);
  for (const row of rows) {
    log.next();
    expect([...log.values]).toEqual(row);
  }
  expect([log.line, log.next()]).toEqual([rows.length + 1, false]);
});

it.each([
  ['', /log\.tsv: is empty; run the experiment again/],
  ['b\n1\n', /has no column a; run the experiment again/],
  ['a\tb\n1\t2\n1\n', /log\.tsv:3: ends before its last column/],
  ['a\tb\n1\t2\n1\t2', /log\.tsv:3: is cut off in the middle of a line/],
  ['a\tb\n1\t2\nx\t2\n', /log\.tsv:3: 'x' is not a number/],
  ['a\tb\n\t2\n', /log\.tsv:2: '' is not a number/],
])('refuses %j', (text, message) => {
  const read = () => {
    const log = new LogReader(logOf(text), ['a']);
    while (log.next());
  };
  expect(read).toThrow(message);
  expect(read).toThrow(expect.objectContaining({ code: 'E_RESULTS' }));
});

it('refuses a file that is not there', () => {
  expect(() => new LogReader('/nowhere/log.tsv', ['a'])).toThrow(/\/nowhere\/log\.tsv: cannot be read/);
});
