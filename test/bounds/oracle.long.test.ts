import { describe, expect, it } from 'vitest';
import { upperBounds } from '../../src/bounds/upper-bounds.js';
import { hasSharedData, readRows } from '../oracle/shared-data.js';
import { MS } from '../sim/fixtures.js';
import { offered } from './examples.js';

/** Requests/s of 15 models on one GPU with batches up to 8, from an implementation of its own that raises costs only once. */
const WINDOW_LIMITED: readonly (readonly [workload: string, sloMs: number, rps: number])[] = [
  ['600', 10, 421],
  ['600', 25, 510],
  ['600', 50, 590],
  ['600', 100, 602],
  ['1000', 10, 486],
  ['1000', 25, 601],
  ['1000', 50, 699],
  ['1000', 100, 807],
  ['1000', 250, 816],
];

describe.skipIf(!hasSharedData)('the workloads of the published scheduler', () => {
  const rows = hasSharedData ? readRows() : [];

  it.each(WINDOW_LIMITED)('%s/s, %d ms: window-limited at %d/s', (rate, sloMs, rps) => {
    const row = rows.find(({ name }) => name.startsWith(`a_r${rate}_`));
    if (row === undefined) throw new Error(`no case has ${rate} requests/s`);
    const requests = offered(row.arrivals.map(([arrival, model]) => [model, arrival, sloMs * MS]));
    const { windowLimited } = upperBounds(requests, { models: row.models, gpus: 1 });
    expect(windowLimited / row.durationS).toBeLessThan(rps + 1);
    expect(windowLimited / row.durationS).toBeGreaterThan(0.996 * rps - 1);
  });

  it('bound what it served, in every case', () => {
    const known = new Map<string, number>();
    const above = rows.filter(({ models, arrivals, gpus, sloNs, maxBatch, goodputRps, durationS }) => {
      const key = [arrivals.length, models.length, gpus, sloNs, maxBatch].join();
      const requests = offered(arrivals.map(([arrival, model]) => [model, arrival, sloNs]));
      const found = known.get(key) ?? best(upperBounds(requests, { models, gpus, maxBatch }));
      known.set(key, found);
      return goodputRps * durationS > found;
    });
    expect(above.map(({ name }) => name)).toEqual([]);
  });
});

function best({ windowLimited, timePriced }: ReturnType<typeof upperBounds>): number {
  return Math.min(windowLimited, timePriced ?? windowLimited);
}
