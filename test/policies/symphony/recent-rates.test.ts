import { describe, expect, it } from 'vitest';
import { RecentRates } from '../../../src/policies/symphony/recent-rates.js';
import { MS } from '../policy-harness.js';

function arrive(rates: RecentRates, fromMs: number, toMs: number, everyMs: number): void {
  for (let ms = fromMs; ms < toMs; ms += everyMs) rates.arrived(0, ms * MS);
}

describe('RecentRates', () => {
  it('is the mean of the whole periods of the last 5 s', () => {
    const rates = new RecentRates(1);
    arrive(rates, 0, 5000, 10);
    expect(rates.rps(0, 5000 * MS)).toBe(100);
    arrive(rates, 5000, 7500, 5);
    expect(rates.rps(0, 7500 * MS)).toBe(150);
    arrive(rates, 7500, 10_000, 5);
    expect(rates.rps(0, 10_049 * MS)).toBe(200);
    expect(rates.rps(0, 12_500 * MS)).toBe(100);
  });

  it.each([15_050, 15_051, 20_000, 900_000])('has forgotten all after 5 s of silence (%d ms)', (ms) => {
    const rates = new RecentRates(1);
    arrive(rates, 0, 10_000, 5);
    expect(rates.rps(0, ms * MS)).toBe(0);
    rates.arrived(0, ms * MS);
    expect(rates.rps(0, (ms + 50) * MS)).toBeCloseTo(0.2, 9);
  });

  it('starts again for a model that takes the slot of another', () => {
    const rates = new RecentRates(2);
    arrive(rates, 0, 1000, 10);
    rates.forget(0);
    expect(rates.rps(0, 1000 * MS)).toBeUndefined();
    rates.arrived(0, 1000 * MS);
    expect(rates.rps(0, 1050 * MS)).toBe(20);
    expect(rates.rps(1, 1050 * MS)).toBeUndefined();
  });
});
