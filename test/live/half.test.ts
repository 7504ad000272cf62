import { describe, expect, it } from 'vitest';
import { fromHalf, toHalf } from '../../src/live/half.js';

describe('half precision', () => {
  it('keeps every value that it has', () => {
    const kept = (bits: number) => Number.isNaN(fromHalf(bits)) || toHalf(fromHalf(bits)) === bits;
    expect(Array.from({ length: 0x10000 }, (_, bits) => bits).filter((bits) => !kept(bits))).toEqual([]);
  });

  it.each([
    ['one', 1, 0x3c00],
    ['the largest', 65504, 0x7bff],
    ['what rounds down to the largest', 65519.999, 0x7bff],
    ['what is halfway to the next', 65520, 0x7c00],
    ['infinity', Number.NEGATIVE_INFINITY, 0xfc00],
    ['the smallest', 2 ** -24, 1],
    ['half of the smallest, a tie', 2 ** -25, 0],
    ['a little more than that', 2 ** -25 + 2 ** -60, 1],
    ['a tie between two, to even', 1 + 2 ** -11, 0x3c00],
    ['a tie above an odd one, to even', 1 + 3 * 2 ** -11, 0x3c02],
    ['a tie that single precision would have made', 1 + 2 ** -11 + 2 ** -40, 0x3c01],
    ['negative zero', -0, 0x8000],
    ['no number', Number.NaN, 0x7e00],
  ])('rounds %s', (_, value, bits) => {
    expect(toHalf(value)).toBe(bits);
  });
});
