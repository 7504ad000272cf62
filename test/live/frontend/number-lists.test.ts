import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfJson } from '../../../src/live/frontend/json-data.js';
import { readNumberList } from '../../../src/live/frontend/number-lists.js';
import { DATATYPES, type Datatype } from '../../../src/live/model.js';

const NAMES = (Object.keys(DATATYPES) as Datatype[]).filter((name) => name !== 'BYTES');
const FLOATS = ['FP16', 'FP32', 'FP64'] as const;

const read = (datatype: Datatype, shape: readonly number[], text: string) =>
  readNumberList(datatype, shape, Buffer.from(text));
/** What others make of it; null: they refuse it. */
function expected(datatype: Datatype, shape: readonly number[], text: string): Uint8Array | null {
  try {
    return bytesOfJson('x', datatype, shape, JSON.parse(text));
  } catch {
    return null;
  }
}

/** Numbers as clients write them, near and beyond all limits. */
const plain = fc.oneof(
  fc.integer({ min: -300, max: 300 }).map(String),
  fc.integer().map(String),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: -10, max: 10, noNaN: true }).map((value) => value.toFixed(7)),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.tuple(fc.integer(), fc.integer({ min: -400, max: 400 })).map(([a, b]) => `${a}e${b}`),
  fc.constantFrom(
    '-0',
    '0.0',
    '-0.0e0',
    '1E+2',
    '1.50',
    '65519.99',
    '65520',
    '3.4028235677973366e38',
    '1e400',
  ),
  fc.constantFrom('255', '256', '-128', '-129', '65535', '2147483647', '2147483648', '4294967295', '1e-7'),
  fc.stringMatching(/^-?\d{1,12}\.\d{1,14}$/).filter((text) => !/^-?0\d/.test(text)),
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r ');

describe('a list of numbers', () => {
  it('is read to the bytes that JSON.parse and rounding give', () => {
    let plainLists = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...NAMES),
        fc.array(fc.tuple(space, plain, space), { minLength: 1, maxLength: 6 }),
        (datatype, items) => {
          const text = `[${items.map((parts) => parts.join('')).join(',')}]`;
          const tensor = read(datatype, [items.length], text);
          if (tensor === null) return;
          plainLists++;
          expect([text, tensor]).toEqual([text, expected(datatype, [items.length], text)]);
        },
      ),
      { numRuns: 10_000 },
    );
    expect(plainLists).toBeGreaterThan(1000);
  });

  it('is read if its numbers are within the type, with whatever digits', () => {
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 4 }), (items) => {
        const text = `[${items}]`;
        const tensor = expected('FP64', [items.length], text);
        expect([text, read('FP64', [items.length], text)]).toEqual([text, tensor]);
      }),
      { numRuns: 5000 },
    );
  });

  it('is never read where JSON.parse refuses it', () => {
    const characters = fc.constantFrom(...'[]{},:"\\-+.eE0123tfnN x');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 10 }), fc.nat({ max: 3 }), (inner, extra) => {
        const text = `[${inner}]`;
        const count = Math.max(1, inner.split(',').length - extra);
        for (const datatype of ['FP32', 'INT64', 'BOOL'] as const) {
          const tensor = read(datatype, [count], text);
          if (tensor !== null) expect([text, tensor]).toEqual([text, expected(datatype, [count], text)]);
        }
      }),
      { numRuns: 30_000 },
    );
  });

  it('may be nested as its shape says, and no other way', () => {
    const shape = [2, 2, 3];
    const nested = '[[[1,2,3],[4,5,6]],\n[[7,8,9], [10,11,12 ] ] ]';
    const flat = '[1,2,3,4,5,6,7,8,9,10,11,12]';
    for (const text of [nested, flat]) {
      for (const datatype of NAMES.filter((name) => name !== 'BOOL'))
        expect(read(datatype, shape, text)).toEqual(expected(datatype, shape, flat));
    }
    for (const text of [
      '[[1,2,3],[4,5,6],[7,8,9],[10,11,12]]',
      '[[[1,2,3],[4,5,6]],[[7,8,9],[10,11]]]',
      '[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12,13]]]',
      '[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]],[[1,2,3],[4,5,6]]]',
      '[[[1,2,3],[4,5,6]],[7,8,9,10,11,12]]',
      '[[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]]',
      '[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]',
      '[1,2,3,4,5,6,7,8,9,10,11]',
      '[1,2,3,4,5,6,7,8,9,10,11,12,13]',
      '[1,2,3,4,5,6,7,8,9,10,11,12,]',
    ])
      expect([text, read('FP32', shape, text)]).toEqual([text, null]);
  });

  it('may be longer than what is kept before it goes into the tensor', () => {
    const values = Array.from({ length: 5000 }, (_, i) => Math.fround(Math.sin(i) * 3));
    for (const datatype of FLOATS)
      expect(read(datatype, [5, 1000], JSON.stringify(values))).toEqual(
        expected(datatype, [5000], JSON.stringify(values)),
      );
    const whole = JSON.stringify(values.map((value) => Math.round(value * 1e15)));
    expect(read('INT64', [5000], whole)).toEqual(expected('INT64', [5000], whole));
  });

  it('is left to others where that says more: words, bigints, what is out of range', () => {
    for (const [datatype, item] of [
      ['FP32', 'NaN'],
      ['FP32', 'Infinity'],
      ['FP32', '1e39'],
      ['FP64', '1e309'],
      ['FP16', '65520'],
      ['BOOL', 'true'],
      ['BOOL', '2'],
      ['INT64', '9007199254740993'],
      ['UINT64', '-1'],
      ['INT32', '1.5'],
      ['UINT8', '256'],
      ['FP32', 'null'],
      ['FP32', '"1"'],
      ['FP32', '01'],
      ['FP32', '1.'],
      ['FP32', '.5'],
      ['FP32', '+1'],
      ['FP32', '1e'],
      ['FP32', '--1'],
    ] as const)
      expect([item, read(datatype, [2], `[0,${item}]`)]).toEqual([item, null]);
  });

  it('gets no memory for a shape alone', () => {
    expect(read('FP64', [2 ** 40], '[1]')).toBeNull();
    expect(read('FP64', [0], '[1]')).toBeNull();
  });
});
