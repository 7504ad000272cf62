import { describe, expect, it } from 'vitest';
import {
  formatFactor,
  formatMs,
  formatPercent,
  formatPercentCell,
  formatRate,
} from '../../src/text/numbers.js';
import { listed, plural } from '../../src/text/words.js';

describe('figures for people', () => {
  it('have about three digits, and thousands set apart', () => {
    expect([0, 0.126, 9.994, 12.34, 480.24, 1204.06, 12_345.6].map(formatRate)).toEqual([
      ...['0', '0.13', '9.99', '12.3', '480.2', '1,204.1', '12,346'],
    ]);
    expect([0.5, 12.34, 123.4, 12_340].map(formatMs)).toEqual(['0.50 ms', '12.3 ms', '123 ms', '12.3 s']);
    expect([null, Number.POSITIVE_INFINITY].map(formatMs)).toEqual(['–', 'never']);
    expect([0.0012, 0.08, 0.25, 1.083, 7, 125].map(formatFactor)).toEqual([
      ...['0.0012×', '0.08×', '0.25×', '1.08×', '7.0×', '125×'],
    ]);
    expect([null, Number.POSITIVE_INFINITY].map(formatFactor)).toEqual(['–', 'from 0']);
  });

  it('say 0 % only of none, and 100 % only of all', () => {
    expect([1e-9, 0.0004, 0.0005, 0.01].map(formatPercent)).toEqual(['<0.1 %', '<0.1 %', '0.1 %', '1.0 %']);
    expect([0, 1e-9, 0.0004, 0.0005].map(formatPercentCell)).toEqual(['0.0', '<0.1', '<0.1', '0.1']);
    expect([0, 0.5, 0.9994, 0.99999, 1].map(formatPercent)).toEqual([
      ...['0 %', '50.0 %', '99.94 %', '>99.99 %', '100 %'],
    ]);
    expect([0.9996, 1].map(formatPercentCell)).toEqual(['99.9', '100.0']);
  });
});

it('joins words, and counts them', () => {
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(listed)).toEqual(['', 'a', 'a and b', 'a, b and c']);
  expect([plural(1, 'run'), plural(0, 'run'), plural(3, 'run')]).toEqual(['1 run', '0 runs', '3 runs']);
});
