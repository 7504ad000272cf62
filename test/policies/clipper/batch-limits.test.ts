import { describe, expect, it } from 'vitest';
import { BatchLimits } from '../../../src/policies/clipper/policy.js';

const SLO_NS = 20;

function limits(largest = 16, increase = 2): BatchLimits {
  return new BatchLimits(Int32Array.of(largest, largest), increase);
}

/** The model's batches run full and take `latency`, `times` times; the limits that follow. */
function after(of: BatchLimits, latency: number, times: number): number[] {
  return Array.from({ length: times }, () => {
    of.feedback(0, of.of(0), latency, SLO_NS);
    return of.of(0);
  });
}

describe('BatchLimits', () => {
  it('grow by a step after every full batch within the SLO, up to the largest size', () => {
    expect(limits(8).of(0)).toBe(2);
    expect(after(limits(8), 20, 4)).toEqual([4, 6, 8, 8]);
    expect(after(limits(8, 3), 20, 3)).toEqual([6, 8, 8]);
  });

  it('shrink by a tenth after a batch beyond the SLO, and never below one request', () => {
    const grown = limits(10, 10);
    // 10, 9, 8.1, 7.29, 6.561, 5.9049
    expect(after(grown, 21, 5)).toEqual([9, 8, 7, 6, 5]);
    after(grown, 21, 100);
    expect(grown.of(0)).toBe(1);
  });

  it('learn nothing from a batch in time that was not full, but from any that was late', () => {
    const some = limits(10, 10);
    some.feedback(0, 3, 30, SLO_NS);
    expect(some.of(0)).toBe(9);
    some.feedback(0, 3, 10, SLO_NS);
    expect(some.of(0)).toBe(9);
  });
});
