import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cloned } from './clone.js';

const leaf = fc.oneof(
  fc.string(),
  fc.double(),
  fc.bigInt(),
  fc.constantFrom(undefined, null, true),
  fc.uint8Array(),
  fc.uint8Array({ minLength: 4 }).map((bytes) => bytes.subarray(1, 3)),
  fc.float64Array(),
  fc.date({ noInvalidDate: true }),
  fc.string().map((text) => new Error(text)),
  fc.string().map((text) => Buffer.from(text)),
  fc.array(fc.tuple(fc.string(), fc.nat())).map((entries) => new Map(entries)),
);
const { message } = fc.letrec((tie) => ({
  message: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('message')),
    fc.dictionary(fc.string(), tie('message')),
  ),
}));

it('copies what messages may be, as Node does', () => {
  fc.assert(
    fc.property(message, (given) => {
      const copied = cloned(given);
      expect(copied).toStrictEqual(structuredClone(given));
      if (typeof given === 'object' && given !== null) expect(copied).not.toBe(given);
    }),
  );
});

it('shares shared memory, and hands over buffers', () => {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const sent = cloned({ shared: shared.buffer }) as { shared: SharedArrayBuffer };
  shared[0] = 7;
  expect(new Int32Array(sent.shared)[0]).toBe(7);
  const bytes = new Uint8Array([1, 2]);
  expect(cloned([bytes], [bytes.buffer])).toEqual([new Uint8Array([1, 2])]);
  expect(bytes).toHaveLength(0);
});

it('does not send functions', () => {
  expect(() => cloned({ deep: [() => {}] })).toThrow(DOMException);
});
