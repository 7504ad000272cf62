import { expect, it } from 'vitest';
import { csvText } from '../../src/text/csv.js';

it('leaves numbers as they are, signs and exponents included', () => {
  expect(
    csvText(
      ['a', 'b'],
      [
        [-5, '-5'],
        [1e-7, '+1.5e-7'],
        [null, ''],
      ],
    ),
  ).toBe('a,b\n-5,-5\n1e-7,+1.5e-7\n,""\n'.replace('""', ''));
});

it.each([
  ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
  ['+1+1', "'+1+1"],
  ['-5+cmd', "'-5+cmd"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  ['\t=1+1', '\\u0009=1+1'],
  ['\r=1', '\\u000d=1'],
  ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  ['slo=5ms', 'slo=5ms'],
])('%j is no formula and no control, in a cell or a header', (text, written) => {
  expect(csvText([text], [[text]])).toBe(`${written}\n${written}\n`);
});
