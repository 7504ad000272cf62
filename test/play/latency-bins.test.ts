import { expect, it } from 'vitest';
import {
  cumulativePercent,
  LATENCY_BINS,
  latencyBinEndNs,
  latencyBinEndsMs,
  latencyBinOf,
} from '../../src/play/latency-bins.js';

it('adds up shares, of which those that are too long for all bins miss', () => {
  const counts = new Uint32Array(LATENCY_BINS);
  counts[0] = 1;
  counts[4] = 2;
  counts[LATENCY_BINS - 1] = 1;
  const percent = cumulativePercent(counts);
  expect(percent.slice(0, 5)).toEqual([25, 25, 25, 25, 75]);
  expect([percent.length, percent.at(-1)]).toEqual([LATENCY_BINS - 1, 75]);
  expect(cumulativePercent(new Uint32Array(LATENCY_BINS))[0]).toBeNull();
});

it('bins double every four', () => {
  expect(
    latencyBinEndsMs()
      .slice(0, 9)
      .filter((_, i) => i % 4 === 0),
  ).toEqual([0.1, 0.2, 0.4]);
  expect(latencyBinEndNs(LATENCY_BINS - 1)).toBe(Number.POSITIVE_INFINITY);
});

it('a bin holds what lies between its ends', () => {
  for (const ms of [0, 0.1, 0.1001, 1, 3.7, 100, 4000, 1e6]) {
    const bin = latencyBinOf(ms * 1e6);
    expect(latencyBinEndNs(bin)).toBeGreaterThanOrEqual(ms * 1e6 * (1 - 1e-12));
    if (bin > 0) expect(latencyBinEndNs(bin - 1)).toBeLessThan(ms * 1e6);
  }
});
