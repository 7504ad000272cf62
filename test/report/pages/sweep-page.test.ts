import { describe, expect, it } from 'vitest';
import { sweepPage } from '../../../src/report/pages/sweep-page.js';
import { cellFixture, fleetsFixture, gridFixture, groupedFixture } from '../fixtures.js';

describe('the facts at the top of a sweep', () => {
  it('count fleets in the plural', () => {
    const results = fleetsFixture({
      '8 GPUs': { gpus: 8, attainment: 1 },
      '4 GPUs': { gpus: 4, attainment: 0.9 },
    });
    expect(sweepPage(results, [])).toContain('2 fleets × 1 seed');
  });

  it('say what a share by weight is of, and what the share of a group', () => {
    const weighted = gridFixture({
      vary: [{ key: 'policy.kind', values: ['edf', 'fifo'] }],
      run: (_, seed) => {
        const cell = cellFixture({ sloMs: 100, seed, goodputRps: 450 });
        const { requests, offeredLatencyMs, executedLatencyMs, attainment } = cell.summary;
        const figures = { requests, offeredLatencyMs, executedLatencyMs, attainment, offeredRps: 600 };
        const gold = { ...figures, name: 'gold', weight: 2, share: 0, gpuShare: 1, goodputRps: 450 };
        return { ...cell, summary: { ...cell.summary, classes: [gold], weightedAttainment: attainment } };
      },
    });
    expect(sweepPage(weighted, [])).toContain('of the weight of all requests, within the SLO');
    expect(sweepPage(groupedFixture(), [])).toContain('of its requests within their SLO');
  });
});
