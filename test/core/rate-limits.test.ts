import { expect, it } from 'vitest';
import { RateLimits } from '../../src/core/rate-limits.js';

const S = 1e9;

it('never lets more than burst + rate · t through in any time t', () => {
  const limits = new RateLimits([{ rateRps: 7, burst: 3 }]);
  const passed: number[] = [];
  let seed = 1;
  let nowNs = 0;
  for (let i = 0; i < 5000; i++) {
    seed = (seed * 16807) % 2147483647;
    nowNs += (seed % 100) * 1e6;
    if (limits.take(0, nowNs)) passed.push(nowNs);
  }
  // Tokens beyond what the bucket may have given, over all pairs.
  let excess = Number.NEGATIVE_INFINITY;
  passed.forEach((from, i) => {
    for (let j = i; j < passed.length; j++)
      excess = Math.max(excess, j - i + 1 - 3 - (7 * (passed[j] - from)) / S);
  });
  expect(excess).toBeLessThan(1e-6);
  // It also lets through all that it may.
  expect(passed.length).toBeGreaterThan((7 * nowNs) / S - 3);
});

it('tells when the next one may come', () => {
  const limits = new RateLimits([
    { rateRps: 4, burst: 1 },
    { rateRps: Number.POSITIVE_INFINITY, burst: 1 },
  ]);
  expect(limits.take(0, 0)).toBe(true);
  expect(limits.take(0, 0.05 * S)).toBe(false);
  expect(limits.untilNextNs(0)).toBe(0.2 * S);
  expect(limits.take(0, 0.25 * S)).toBe(true);
  for (let i = 0; i < 100; i++) expect(limits.take(1, 0)).toBe(true);
});
