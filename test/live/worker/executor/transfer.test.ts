import { describe, expect, it } from 'vitest';
import { anyLarge, buffersOf, movable } from '../../../../src/live/worker/executor/transfer.js';

describe('bytes that go to another thread', () => {
  it('are copied into one buffer if they are small, and keep theirs if they are large', () => {
    const whole = new Uint8Array([1, 2, 3]);
    const large = new Uint8Array(50_000).subarray(8);
    const [first, second, kept, pooled] = movable([whole, whole.subarray(1), large, Buffer.from('abc')]);
    expect(kept).toBe(large);
    expect([first, second, pooled].map((bytes) => [...bytes])).toEqual([
      [1, 2, 3],
      [2, 3],
      [97, 98, 99],
    ]);
    expect(first.buffer).toBe(second.buffer);
    expect(first.buffer).not.toBe(whole.buffer);
    expect(second.byteOffset % 8).toBe(0);
    expect([anyLarge([whole, large]), anyLarge([whole]), anyLarge([])]).toEqual([true, false, false]);
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
