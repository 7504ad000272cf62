import { expect, it } from 'vitest';
import {
  cumulativePercent,
  LATENCY_BINS,
  latencyBinEndNs,
  latencyBinEndsMs,
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
