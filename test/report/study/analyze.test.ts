import { describe, expect, it } from 'vitest';
import type { SweepResults } from '../../../src/record/results.js';
import { commonChoice, failedCells, recommend } from '../../../src/report/study/analyze.js';
import { aggregate } from '../../../src/report/study/points.js';
import { cellFixture, gridFixture, sweepFixture } from '../fixtures.js';

/** A sweep with exactly these goodputs by `slo` and `policy.scheduleAhead`. */
function exactly(goodput: Record<string, Record<string, number>>, defaultAhead = '10ms'): SweepResults {
  const slos = Object.keys(goodput);
  const aheads = Object.keys(goodput[slos[0] as string] as object);
  return gridFixture({
    vary: [
      { key: 'slo', values: slos },
      { key: 'policy.scheduleAhead', values: aheads },
    ],
    defaults: { slo: '100ms', 'policy.scheduleAhead': defaultAhead },
    run: (values) => {
      const cell = cellFixture({ sloMs: 10, goodputRps: 1 });
      const goodputRps = goodput[values.slo as string]?.[values['policy.scheduleAhead'] as string] as number;
      return { ...cell, summary: { ...cell.summary, goodputRps } };
    },
  });
}

describe('aggregate', () => {
  it('leaves failed cells out and reports them', () => {
    const id = 'policy.scheduleAhead=5ms slo=10ms seed=2';
    const results = sweepFixture({ failed: [id] });
    expect(failedCells(results).map((cell) => cell.id)).toEqual([id]);
    const point = aggregate(results).find(
      ({ values }) => values.slo === '10ms' && values['policy.scheduleAhead'] === '5ms',
    );
    expect(point?.cells.map((cell) => cell.seed)).toEqual([1, 3]);
  });
});

describe('recommend', () => {
  it('takes the highest score, and of equal ones the smaller value, whatever the order of the sweep', () => {
    const [tie] = recommend(exactly({ '10ms': { '20ms': 600, '1ms': 599.5, '5ms': 600 } }));
    expect(tie?.choice).toEqual({ 'policy.scheduleAhead': '5ms' });
    expect(tie?.tied.map(({ choice }) => choice['policy.scheduleAhead'])).toEqual(['1ms', '20ms']);
    const [clear] = recommend(exactly({ '10ms': { '20ms': 600, '1ms': 599.3 } }));
    expect(clear?.choice).toEqual({ 'policy.scheduleAhead': '20ms' });
  });
});

describe('commonChoice', () => {
  it('takes the value that loses least where it loses most', () => {
    const results = exactly({
      '10ms': { '1ms': 300, '5ms': 350, '10ms': 50 },
      '25ms': { '1ms': 430, '5ms': 415, '10ms': 390 },
    });
    const common = commonChoice(results, recommend(results));
    expect(common?.choice).toEqual({ 'policy.scheduleAhead': '5ms' });
    expect(common?.worstShare).toBeCloseTo(415 / 430);
  });

  it('takes no value that failed under one of the conditions', () => {
    const failed = ['policy.scheduleAhead=5ms slo=100ms seed=1'];
    const results = sweepFixture({ aheadMs: [5, 10], slosMs: [10, 100], seeds: [1], failed });
    expect(recommend(results)[0]?.choice).toEqual({ 'policy.scheduleAhead': '5ms' });
    expect(commonChoice(results, recommend(results))?.choice).toEqual({ 'policy.scheduleAhead': '10ms' });
  });
});
