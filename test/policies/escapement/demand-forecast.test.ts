import { describe, expect, it } from 'vitest';
import { DemandForecast } from '../../../src/policies/escapement/demand-forecast.js';
import { MS } from '../policy-harness.js';

const S = 1000 * MS;

function arrive(demand: DemandForecast, fromMs: number, toMs: number, everyMs: number): void {
  for (let ms = fromMs; ms < toMs; ms += everyMs) demand.arrived(0, ms * MS);
}

describe('DemandForecast', () => {
  it.each([1, 5, 60])('expects of steady traffic its rate, %d s after the start as later', (seconds) => {
    const demand = new DemandForecast(1);
    arrive(demand, 0, seconds * 1000, 20);
    expect(demand.rateRps(0, seconds * S)).toBeGreaterThan(50 * 0.95);
    expect(demand.rateRps(0, seconds * S)).toBeLessThan(50 * 1.05);
  });

  it('believes half of a burst at once, and little of it five seconds later', () => {
    const demand = new DemandForecast(1);
    arrive(demand, 0, 60_000, 1000);
    arrive(demand, 60_000, 63_000, 10);
    expect(demand.rateRps(0, 63 * S)).toBeGreaterThan(45);
    expect(demand.rateRps(0, 63 * S)).toBeLessThan(55);
    expect(demand.rateRps(0, 68 * S)).toBeLessThan(15);
  });

  it('forgets a model that is not asked for any more', () => {
    const demand = new DemandForecast(1);
    arrive(demand, 0, 60_000, 20);
    // 50 / e.
    expect(demand.rateRps(0, 80 * S)).toBeCloseTo(18, 0);
    expect(demand.rateRps(0, 200 * S)).toBeLessThan(0.1);
  });
});
