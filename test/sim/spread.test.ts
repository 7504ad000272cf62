import { expect, test } from 'vitest';
import { quantile } from '../../src/sim/spread.js';

const SPREAD = { shares: [0, 0.5, 0.9, 1], factors: [0.8, 1, 1.2, 3] };

test.each([
  [0, 0.8],
  [0.25, 0.9],
  [0.5, 1],
  [0.7, 1.1],
  [0.9, 1.2],
  [0.95, 2.1],
  [1, 3],
])('%d of the runs take at most %d times as long', (share, factor) => {
  expect(quantile(SPREAD, share)).toBeCloseTo(factor, 9);
});
