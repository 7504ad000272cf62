import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../../src/live/frontend/decimal.js';

/** As `decimal` takes it: up to 18 digits without leading zeros. */
function ofDigits(digits: string, exponent: number): number {
  const high = digits.slice(0, 9);
  const low = digits.slice(9);
  return decimal(Number(high), high.length, Number(low || '0'), low.length, exponent);
}

const digitsOf = (most: number) =>
  fc.bigInt({ min: 1n, max: 10n ** BigInt(most) - 1n }).map((value) => String(value));

describe('a decimal number', () => {
  it('is the double that Number makes of it, or left to Number', () => {
    let left = 0;
    const runs = 20_000;
    fc.assert(
      fc.property(digitsOf(18), fc.integer({ min: -22, max: 0 }), (digits, exponent) => {
        const value = ofDigits(digits, exponent);
        if (Number.isNaN(value)) left++;
        else expect(value).toBe(Number(`${digits}e${exponent}`));
      }),
      { numRuns: runs },
    );
    expect(left).toBeLessThan(runs / 50);
  });

  it('is exact with few digits and any power that a double holds', () => {
    fc.assert(
      fc.property(digitsOf(15), fc.integer({ min: -30, max: 30 }), (digits, exponent) => {
        const value = ofDigits(digits, exponent);
        expect(Number.isNaN(value)).toBe(Math.abs(exponent) > 22);
        if (!Number.isNaN(value)) expect(value).toBe(Number(`${digits}e${exponent}`));
      }),
      { numRuns: 5000 },
    );
  });

  it('is the double that was written', () => {
    const doubles = fc.double({ min: 1e-4, max: 1e15, noNaN: true });
    fc.assert(
      fc.property(fc.oneof(doubles, doubles.map(Math.fround)), (value) => {
        const [whole, fraction = ''] = String(value).split('.');
        const digits = (whole + fraction).replace(/^0+/, '');
        if (digits.length <= 18 && !fraction.includes('e'))
          expect([value, Number.NaN]).toContain(ofDigits(digits, -fraction.length));
      }),
      { numRuns: 10_000 },
    );
  });

  it('is left to Number where it lies in the middle of two doubles, or close to it', () => {
    // 2^53 + 1 and its neighbours, as whole numbers and as fractions.
    for (const [digits, exponent] of [
      ['9007199254740993', 0],
      ['90071992547409930', -1],
      ['900719925474099300', -2],
    ] as const) {
      expect(ofDigits(digits, exponent)).toBeNaN();
    }
    for (const digits of ['9007199254740992', '9007199254740994', '90071992547409931', '900719925474099299'])
      expect(ofDigits(digits, 0)).toBe(Number(digits));
  });
});
