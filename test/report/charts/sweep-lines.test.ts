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
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

function rowsIn(spec: unknown): Row[] {
  if (typeof spec !== 'object' || spec === null) return [];
  if ('value' in spec && 'high' in spec) return [spec as Row];
  return Object.values(spec).flatMap(rowsIn);
}

describe('lines of goodput', () => {
  it('have intervals that end at what was offered', () => {
    // Student's t of two seeds makes the interval wider than 100 requests/s on either side.
    const rows = rowsIn(chartOf({ '50ms': [300, 310], '100ms': [480, 500] }));
    const near = rows.filter(({ value }) => value === 490);
    const far = rows.filter(({ value }) => value === 305);
    expect([near.length > 0, far.length > 0]).toEqual([true, true]);
    for (const { low, high } of near) expect([low < 400, high]).toEqual([true, OFFERED_RPS]);
    for (const { low, high } of far) expect(high - 305).toBeCloseTo(305 - low);
  });

  it('name the highest point, however little it is above the next', () => {
    const { description } = chartOf({ '50ms': [499.7, 499.7], '100ms': [500, 500] });
    expect(description).toContain('Highest: 500 req/s at SLO 100 ms');
  });
});

/** edf serves more requests, escapement more weight: gold ones count ten times. */
const sweep = (key: string, values: readonly string[], weighted: boolean) =>
  gridFixture({
    vary: [
      { key, values },
      { key: 'policy.kind', values: ['edf', 'escapement'] },
    ],
    defaults: { 'policy.kind': 'escapement' },
    run: (at) => {
      const [gold, others] = at['policy.kind'] === 'edf' ? [60, 60] : [100, 10];
      const cell = cellFixture({ sloMs: 100, goodputRps: 500 });
      const weights = {
        weightedAttainment: (10 * gold + others) / 1100,
        weightedGoodputRps: 10 * gold + others,
        weightedOfferedRps: 1100,
      };
      const summary = {
        ...cell.summary,
        policy: at['policy.kind'] as string,
        goodputRps: gold + others,
        offeredRps: 200,
      };
      return { ...cell, summary: weighted ? { ...summary, ...weights } : summary };
    },
  });

const weighedChart = (...args: Parameters<typeof sweep>) =>
  JSON.stringify(sweepCharts(sweep(...args)).find(({ name }) => name === 'goodput')?.spec);

describe('lines of goodput by weight', () => {
  it.each([
    ['lines', 'slo', ['50ms', '100ms']],
    ['names', 'models.kind', ['zoo', 'csv']],
  ])('counts requests by weight where the ranking does: %s', (_, key, values) => {
    const spec = weighedChart(key, values, true);
    expect(spec).toContain('Goodput by weight');
    expect(spec).toContain('goodput (weight/s)');
    expect(spec).toContain('"value":1010');
    expect(spec).toContain('"value":660');
    expect(spec).not.toContain('req/s');
  });

  it('says how much weight was offered, and rings what serves the most of it', () => {
    const spec = weighedChart('slo', ['50ms', '100ms'], true);
    expect(spec).toContain('offered: 1,100 weight/s');
    expect(spec).toMatch(/"isRinged":true,"value":1010/);
    expect(spec).not.toMatch(/"isRinged":true,"value":660/);
  });

  it('counts requests where they all weigh the same', () => {
    const spec = weighedChart('slo', ['50ms', '100ms'], false);
    expect(spec).toContain('goodput (requests/s)');
    expect(spec).toContain('"value":120');
    expect(spec).not.toContain('weight');
  });
});
