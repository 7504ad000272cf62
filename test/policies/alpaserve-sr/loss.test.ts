import { describe, expect, it } from 'vitest';
import { lossShare } from '../../../src/policies/alpaserve-sr/replica-plan.js';

/** From the birth-death chain itself: state n has probability in proportion to load^n. */
function literal(load: number, places: number): number {
  const weights = Array.from({ length: places + 1 }, (_, n) => load ** n);
  return weights[places] / weights.reduce((sum, weight) => sum + weight, 0);
}

describe('lossShare', () => {
  it('is that of M/M/1/K', () => {
    for (const load of [0.01, 0.5, 0.9, 1, 1.1, 3]) {
      for (const places of [1, 2, 10, 40])
        expect(lossShare(load, places)).toBeCloseTo(literal(load, places), 12);
    }
  });

  it('loses nothing of no load, and of an overload in the long run what is beyond capacity', () => {
    expect(lossShare(0, 10)).toBe(0);
    expect(lossShare(2, 1e6)).toBeCloseTo(0.5, 12);
  });
});
