import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { cellFixture, gridFixture } from '../fixtures.js';

const OFFERED_RPS = 500;

/** Goodput at each SLO, by seed. */
function chartOf(goodputRps: Readonly<Record<string, readonly number[]>>) {
  const results = gridFixture({
    vary: [{ key: 'slo', values: Object.keys(goodputRps) }],
    seeds: [1, 2],
    run: ({ slo }, seed) => {
      const served = goodputRps[slo!]![seed - 1]!;
      const cell = cellFixture({ sloMs: 100, seed, goodputRps: served });
      const figures = { offeredRps: OFFERED_RPS, goodputRps: served, attainment: served / OFFERED_RPS };
      return { ...cell, summary: { ...cell.summary, ...figures } };
    },
  });
  return sweepCharts(results).find(({ name }) => name === 'goodput')!.spec as {
    readonly description: string;
  };
}

interface Row {
  readonly goodput: number;
  readonly low: number;
  readonly high: number;
}

function rowsIn(spec: unknown): Row[] {
  if (typeof spec !== 'object' || spec === null) return [];
  if ('goodput' in spec && 'high' in spec) return [spec as Row];
  return Object.values(spec).flatMap(rowsIn);
}

describe('lines of goodput', () => {
  it('have bands of confidence that end at what was offered', () => {
    // Student's t of two seeds makes the interval wider than 100 requests/s on either side.
    const rows = rowsIn(chartOf({ '50ms': [300, 310], '100ms': [480, 500] }));
    const near = rows.filter(({ goodput }) => goodput === 490);
    const far = rows.filter(({ goodput }) => goodput === 305);
    expect([near.length > 0, far.length > 0]).toEqual([true, true]);
    for (const { low, high } of near) expect([low < 400, high]).toEqual([true, OFFERED_RPS]);
    for (const { low, high } of far) expect(high - 305).toBeCloseTo(305 - low);
  });

  it('name the highest point, however little it is above the next', () => {
    const { description } = chartOf({ '50ms': [499.7, 499.7], '100ms': [500, 500] });
    expect(description).toContain('Highest: 500 req/s, 100 % of the offered, at SLO 100 ms');
  });
});
