import { describe, expect, it } from 'vitest';
import { areApart, buffersOf, copied } from '../../src/live/transfer.js';

it('only tensors of more than 16 KiB are apart, and only in a batch', () => {
  expect(areApart([{ bytes: 16_384 }, { bytes: 16_385 }], 2)).toBe(true);
  expect(areApart([{ bytes: 16_385 }], 1)).toBe(false);
  expect(areApart([{ bytes: 16_384 }], 8)).toBe(false);
});

describe('tensors for another thread', () => {
  it('are copied into one buffer, aligned', () => {
    const whole = new Uint8Array([1, 2, 3]);
    const copies = copied([whole, whole.subarray(1), new Uint8Array(0), Buffer.from('abc')]);
    expect(copies.map((bytes) => [...bytes])).toEqual([[1, 2, 3], [2, 3], [], [97, 98, 99]]);
    expect(new Set(copies.map(({ buffer }) => buffer)).size).toBe(1);
    expect(copies.every(({ buffer, byteOffset }) => buffer !== whole.buffer && byteOffset % 8 === 0)).toBe(
      true,
    );
  });

  it('are handed over once each', () => {
    const [shared, other] = [new Uint8Array(4), new Uint8Array(4)];
    expect(buffersOf([[shared, other], [shared], [new Uint8Array(0)], []])).toEqual([
      shared.buffer,
      other.buffer,
    ]);
  });
});
