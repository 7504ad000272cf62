import { expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/units.js';
import { measureGaps } from '../../../src/tools/doctor/timing.js';

const STEP_NS = 1_000;

/** A clock of 1 µs a reading that jumps once at each of these times. */
function clockWithGaps(gaps: readonly { readonly atNs: number; readonly lengthNs: number }[]): () => number {
  let nowNs = 0;
  let next = 0;
  return () => {
    nowNs += STEP_NS;
    const gap = gaps[next];
    if (gap !== undefined && nowNs >= gap.atNs) {
      nowNs += gap.lengthNs;
      next++;
    }
    return nowNs;
  };
}

it('finds nothing where a thread is never stopped', () => {
  expect(measureGaps(100 * NS_PER_MS, clockWithGaps([]))).toEqual({
    longestNs: 0,
    longPerS: 0,
    lostShare: 0,
  });
});

it('counts the gaps, and leaves out those of warming up and those that are no gaps', () => {
  const gaps = measureGaps(
    100 * NS_PER_MS,
    clockWithGaps([
      { atNs: 10 * NS_PER_MS, lengthNs: 30 * NS_PER_MS },
      { atNs: 60 * NS_PER_MS, lengthNs: 20_000 },
      { atNs: 70 * NS_PER_MS, lengthNs: 400_000 },
      { atNs: 80 * NS_PER_MS, lengthNs: 4 * NS_PER_MS },
    ]),
  );
  expect(gaps.longestNs).toBe(4 * NS_PER_MS + STEP_NS);
  expect(gaps.longPerS).toBeCloseTo(10, 3);
  expect(gaps.lostShare).toBeCloseTo(0.044, 4);
});
