import { describe, expect, it } from 'vitest';
import { buffersOf, ownBytes } from '../../../../src/live/worker/executor/transfer.js';

describe('bytes that go to another thread', () => {
  it('are copied where they are part of something larger', () => {
    const whole = new Uint8Array([1, 2, 3]);
    const [kept, copy, pooled] = ownBytes([whole, whole.subarray(1), Buffer.from('abc')]);
    expect(kept).toBe(whole);
    expect(copy).toEqual(new Uint8Array([2, 3]));
    expect(pooled).toEqual(new Uint8Array([97, 98, 99]));
    for (const { byteLength, buffer } of [copy, pooled]) expect(buffer.byteLength).toBe(byteLength);
  });

  it('are handed over once each', () => {
    const shared = new Uint8Array(4);
    const other = new Uint8Array(4);
    expect(buffersOf([[shared, other], [shared], [new Uint8Array(0)], []])).toEqual([
      shared.buffer,
      other.buffer,
    ]);
  });
});
