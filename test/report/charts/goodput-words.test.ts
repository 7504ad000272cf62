import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { cellFixture, gridFixture } from '../fixtures.js';

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

const chartOf = (...args: Parameters<typeof sweep>) =>
  JSON.stringify(sweepCharts(sweep(...args)).find(({ name }) => name === 'goodput')?.spec);

describe('a chart of goodput', () => {
  it.each([
    ['lines', 'slo', ['50ms', '100ms']],
    ['bars', 'models.kind', ['zoo', 'csv']],
  ])('counts requests by weight where the ranking does: %s', (_, key, values) => {
    const spec = chartOf(key, values, true);
    expect(spec).toContain('Goodput by weight');
    expect(spec).toContain('goodput (weight/s)');
    expect(spec).toContain('"goodput":1010');
    expect(spec).toContain('"goodput":660');
    expect(spec).not.toContain('req/s');
  });

  it('says how much weight was offered, and rings what serves the most of it', () => {
    const spec = chartOf('slo', ['50ms', '100ms'], true);
    expect(spec).toContain('offered: 1,100 weight/s');
    expect(spec).toMatch(/"goodput":1010,[^}]*"best":true/);
    expect(spec).not.toMatch(/"goodput":660,[^}]*"best":true/);
  });

  it('counts requests where they all weigh the same', () => {
    const spec = chartOf('slo', ['50ms', '100ms'], false);
    expect(spec).toContain('goodput (requests/s)');
    expect(spec).toContain('"goodput":120');
    expect(spec).not.toContain('weight');
  });
});
