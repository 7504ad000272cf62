import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HugeNumber, parseJson } from '../../../src/live/frontend/json-parse.js';

/** Makes a text one that may hold 64-bit integers, so that it is not left to `JSON.parse`. */
const long = (text: string) => `["INT64","1234567890123456",${text}]`;
const exactly = (text: string) => (parseJson(long(text)).value as unknown[])[2];

describe('JSON with the numbers that plain JSON loses', () => {
  it('is read as JSON.parse reads it where both can', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom('', ' ', '\n\t\r'), (text, space) => {
        const spaced = text.replaceAll(/(?<=[[,{:])(?=\d)/g, space);
        expect(rounded(exactly(spaced))).toEqual(JSON.parse(spaced));
      }),
    );
  });

  it('is refused where JSON.parse refuses it', () => {
    const characters = fc.constantFrom(...'[]{},:"\\-+.eE0123tfn ');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 12 }), (text) => {
        const whole = long(text);
        expect(outcome(() => rounded(parseJson(whole).value))).toEqual(outcome(() => JSON.parse(whole)));
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps whole numbers of up to 64 bits', () => {
    for (const text of ['9007199254740993', '-9223372036854775808', '18446744073709551615']) {
      expect(exactly(text)).toBe(BigInt(text));
    }
    expect(exactly('9007199254740991')).toBe(9007199254740991);
    expect(exactly('1e18')).toBe(10n ** 18n);
    expect(exactly('1e21')).toBe(1e21);
    expect(exactly('123456789012345678901')).toBe(Number('123456789012345678901'));
  });

  it('knows NaN and infinities, with and without a sign', () => {
    const { value, hasInfinities } = parseJson('[NaN, -NaN, Infinity, -Infinity, Inf, -Inf, 1]');
    expect(value).toEqual([NaN, NaN, Infinity, -Infinity, Infinity, -Infinity, 1]);
    expect(hasInfinities).toBe(true);
  });

  it('does not take a number that is too large for an infinity', () => {
    for (const text of ['[NaN, 1e999]', '[0, 1e999]']) {
      expect((parseJson(text).value as unknown[])[1]).toEqual(new HugeNumber('1e999'));
    }
    const digits = `[${'9'.repeat(310)}]`;
    expect(parseJson(digits)).toEqual({ value: [Infinity], hasInfinities: false });
  });

  it('takes no other words, and says where it stumbles', () => {
    for (const text of ['[Na]', '[inf]', '[-]', '[NaNN]', '[InfinityX]', '["NaN"', '[NaN,]', '{"a":NaN']) {
      expect([text, outcome(() => parseJson(text).value)]).toEqual([text, REFUSED]);
    }
    expect(() => parseJson('[NaN, x]')).toThrow('unexpected "x" at position 6');
  });

  it('leaves strings alone', () => {
    expect(parseJson('["NaN \\" Infinity", "\\\\", NaN]').value).toEqual(['NaN " Infinity', '\\', NaN]);
  });

  it('does not go down for ever', () => {
    expect(() => parseJson(`${'['.repeat(1e6)}NaN`)).toThrow('levels deep');
  });
});

const REFUSED = Symbol('refused');

/** With numbers as plain JSON has them. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof HugeNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
}

function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return REFUSED;
  }
}
