import { expect, it } from 'vitest';
import { doubled } from '../../src/base/ring.js';

it.each([0, 1, 3])('a ring that begins at %i keeps its order and its type as it grows', (head) => {
  const ring = new Int32Array(4);
  for (let i = 0; i < 4; i++) ring[(head + i) & 3] = 10 + i;
  const twice = doubled(ring, head);
  expect(twice).toEqual(Int32Array.of(10, 11, 12, 13, 0, 0, 0, 0));
  expect(doubled(new Float64Array([0.5]), 0)).toEqual(Float64Array.of(0.5, 0));
});
