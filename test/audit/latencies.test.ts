import { describe, expect, it } from 'vitest';
import { Latencies } from '../../src/audit/latencies.js';

describe('Latencies', () => {
  it('are those of the sorted list', () => {
    const latencies = new Latencies();
    const other = new Latencies();
    const values = Array.from({ length: 5000 }, (_, i) => Math.round(1e6 * 1.002 ** i));
    values.forEach((value, i) => {
      (i % 2 === 0 ? latencies : other).add(value);
    });
    latencies.addAll(other);
    for (const share of [0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = values[Math.ceil(share * 5000) - 1];
      expect(Math.abs((latencies.quantileNs(share, 5000) as number) / exact - 1)).toBeLessThan(5.1e-5);
    }
    // As many again that never end: half of the share, and beyond that nothing.
    expect(latencies.quantileNs(0.25, 10_000)).toBe(latencies.quantileNs(0.5, 5000));
    expect([latencies.quantileNs(0.5, 10_000), latencies.quantileNs(0.5001, 10_000)]).toEqual([
      latencies.quantileNs(1, 5000),
      null,
    ]);
    expect(latencies.largestNs).toBe(values.at(-1));
    expect(latencies.meanNs).toBeCloseTo(values.reduce((sum, value) => sum + value) / 5000, -2);
    const empty = new Latencies();
    expect([empty.meanNs, empty.quantileNs(0.5, 0), empty.largestNs]).toEqual([null, null, null]);
  });
});
