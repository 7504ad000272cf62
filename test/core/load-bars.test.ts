import { describe, expect, it } from 'vitest';
import { LoadBars } from '../../src/core/load-bars.js';

const S = 1_000_000_000;

describe('LoadBars', () => {
  it('last for a second, and twice as long after each further failure, up to a minute', () => {
    const bars = new LoadBars(2, 2);
    let nowNs = 0;
    const lengths = Array.from({ length: 8 }, () => {
      bars.failed(1, 0, nowNs);
      const untilNs = bars.nextEndNs;
      bars.advance(untilNs - 1);
      expect(bars.has(1, 0)).toBe(true);
      bars.advance(untilNs);
      expect(bars.has(1, 0)).toBe(false);
      expect(bars.nextEndNs).toBe(Number.POSITIVE_INFINITY);
      const lengthNs = untilNs - nowNs;
      nowNs = untilNs;
      return lengthNs / S;
    });
    expect(lengths).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('are of one model on one GPU, and forgotten when a LOAD went well or the GPU went', () => {
    const bars = new LoadBars(2, 2);
    bars.failed(1, 0, 0);
    expect([bars.has(1, 0), bars.has(1, 1), bars.has(0, 0)]).toEqual([true, false, false]);
    bars.forget(1, 0);
    expect(bars.has(1, 0)).toBe(false);
    bars.failed(1, 0, 5);
    expect(bars.nextEndNs).toBe(5 + S);
    bars.forgetGpu(0);
    expect([bars.has(1, 0), bars.nextEndNs]).toEqual([false, Number.POSITIVE_INFINITY]);
  });

  it('leave no hope where two GPUs have failed, or all that there are', () => {
    const bars = new LoadBars(1, 3);
    bars.failed(0, 0, 0);
    expect(bars.isHopeless(0, 3)).toBe(false);
    expect(bars.isHopeless(0, 1)).toBe(true);
    bars.failed(0, 2, 0);
    expect(bars.isHopeless(0, 3)).toBe(true);
    bars.advance(S);
    expect(bars.isHopeless(0, 3)).toBe(false);
  });
});
