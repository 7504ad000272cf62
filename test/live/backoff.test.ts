import { expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import { Backoff } from '../../src/live/backoff.js';

it('doubles up to the longest', () => {
  const backoff = new Backoff(100, 2000);
  const delays = [0, 1, 2, 3, 4, 5, 6].map((s) => backoff.delayMs(s * NS_PER_S));
  expect(delays).toEqual([100, 200, 400, 800, 1600, 2000, 2000]);
});

it('starts over after a quiet time', () => {
  const backoff = new Backoff(100, 2000);
  expect([0, 1, 5].map((s) => backoff.delayMs(s * NS_PER_S))).toEqual([100, 200, 400]);
  expect(backoff.delayMs(10 * NS_PER_S)).toBe(100);
});
