import { expect, it } from 'vitest';
import { alignColumns, table } from '../../src/text/table.js';

it('aligns columns with numbers to the right, others to the left, without spaces at the end', () => {
  const rows = [
    ['model', 'requests', 'note'],
    ['resnet50', 7, ''],
    ['a', 1204, 'cold'],
  ];
  expect(alignColumns(rows)).toEqual([
    'model     requests  note',
    'resnet50         7',
    'a             1204  cold',
  ]);
});

it('takes a column for numeric wherever its number is', () => {
  const rows = [
    ['', 'p99'],
    ['one', 12],
    ['none', '–'],
  ];
  expect(alignColumns(rows)).toEqual(['      p99', 'one    12', 'none    –']);
});

it('counts columns of texts from either end', () => {
  const rows = [
    ['cell', 'gain', 'best'],
    ['x', '7.0×', 'a'],
    ['long', '11×', 'bcd'],
  ];
  expect(table(rows, [0, -1])).toBe('cell  gain  best\nx     7.0×  a\nlong   11×  bcd\n');
  expect(table(rows, [])).toBe('cell  gain  best\n   x  7.0×     a\nlong   11×   bcd\n');
});

it('has no line for no rows', () => {
  expect(table([])).toBe('');
});
