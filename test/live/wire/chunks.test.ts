import { expect, it } from 'vitest';
import { CHUNK_BYTES, chunk } from '../../../src/live/wire/chunks.js';

const whole = (items: readonly number[]) => chunk(items, (bytes) => [new Uint8Array(bytes)]);
const THIRD = CHUNK_BYTES / 3 - 300;

it('each chunk is as full as it may be, and all are in order', () => {
  const items = Array.from({ length: 8 }, (_, i) => THIRD + i);
  expect(whole(items)).toEqual([items.slice(0, 3), items.slice(3, 6), items.slice(6)]);
});

it('counts the sizes of tiny tensors, which are text', () => {
  const tiny = Array.from({ length: 100 }, () => new Uint8Array(1));
  expect(chunk(Array(2000).fill(tiny), (tensors) => tensors).length).toBeGreaterThan(2);
});

it('what is too large for a chunk gets one of its own', () => {
  expect(whole([1, 5 * CHUNK_BYTES, 2, 3])).toEqual([[1], [5 * CHUNK_BYTES], [2, 3]]);
  expect(whole([])).toEqual([]);
});
