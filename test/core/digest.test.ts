import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Digest } from '../../src/core/digest.js';

const values = fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 20 });

function digestOf(numbers: readonly number[]): string {
  const digest = new Digest();
  for (const number of numbers) digest.add(number);
  return digest.toString();
}

describe('Digest', () => {
  it('is stable across versions, so that digests can be compared over years', () => {
    expect(digestOf([])).toBe('b4aac72492ca2f0e');
    expect(digestOf([0])).toBe('7b89e3cf171268c0');
    expect(digestOf([1, 2, 3])).toBe('a2926827e8d6adbb');
    expect(digestOf([2 ** 40 + 5, 0, 12_345_678_901, 7])).toBe('852d2ad21a76e929');
  });

  it('differs when any one value differs, above 32 bits too', () => {
    fc.assert(
      fc.property(values, fc.nat(), fc.maxSafeNat(), (numbers, at, other) => {
        const changed = numbers.with(at % numbers.length, other);
        expect(digestOf(changed) === digestOf(numbers)).toBe(other === numbers[at % numbers.length]);
      }),
    );
  });

  it('differs when a value is added or two are exchanged', () => {
    fc.assert(
      fc.property(values, fc.maxSafeNat(), (numbers, more) => {
        expect(digestOf([...numbers, more])).not.toBe(digestOf(numbers));
        fc.pre(numbers[0] !== more);
        expect(digestOf([more, ...numbers])).not.toBe(digestOf([numbers[0], more, ...numbers.slice(1)]));
      }),
    );
  });
});
