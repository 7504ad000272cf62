import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Histogram } from '../../src/record/histogram.js';
import { latencyMs } from '../../src/record/latency.js';
import type { LatencyMs } from '../../src/record/results.js';

const PERCENTS = { p50: 50, p90: 90, p95: 95, p99: 99, p999: 99.9, p9999: 99.99, max: 100 } as const;

/** The nearest-rank percentile of a plain sorted list, in which a request that failed is Infinity; null for that. */
function reference(latenciesNs: readonly number[]): Record<keyof LatencyMs, number | null> {
  const sorted = latenciesNs.toSorted((a, b) => a - b);
  const ms = (ns: number | undefined) => (ns === undefined || ns === Infinity ? null : ns / 1e6);
  const at = (percent: number) => ms(sorted[rankOf(percent, sorted.length) - 1]);
  const mean = ms(sorted.length === 0 ? undefined : sorted.reduce((sum, ns) => sum + ns, 0) / sorted.length);
  const percentiles = Object.entries(PERCENTS).map(([name, percent]) => [name, at(percent)]);
  return { mean, ...Object.fromEntries(percentiles) };
}

/** In whole hundredths of a percent, so that nothing is rounded. */
function rankOf(percent: number, count: number): number {
  return Math.max(1, Math.ceil((Math.round(percent * 100) * count) / 10_000));
}

function expectSame(figures: LatencyMs, latenciesNs: readonly number[]): void {
  for (const [name, ms] of Object.entries(reference(latenciesNs))) {
    expectNear(figures[name as keyof LatencyMs], ms, name);
  }
}

function expectNear(figure: number | null | undefined, ms: number | null, name: string): void {
  if (ms === null) expect(figure, name).toBeNull();
  // Off by a bucket, and rounded to the nanosecond.
  else expect(Math.abs((figure as number) - ms), name).toBeLessThanOrEqual(5e-4 * ms + 0.501e-6);
}

it('latencies are those of a sorted list in which a request that failed never ends', () => {
  const latency = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 10 ** 9 }) },
    fc.constant(Infinity),
  );
  fc.assert(
    fc.property(fc.array(latency, { maxLength: 400 }), (latenciesNs) => {
      const histogram = new Histogram();
      for (const ns of latenciesNs) if (ns !== Infinity) histogram.record(ns);
      expectSame(latencyMs(histogram, latenciesNs.length), latenciesNs);
    }),
  );
});
