import { describe, expect, it } from 'vitest';
import type { CellResult, ClassFigures, KindFigures } from '../../../src/record/results.js';
import { sweepPage } from '../../../src/report/pages/sweep-page.js';
import { bestCaseText } from '../../../src/report/study/best-case.js';
import { cheapestFleet } from '../../../src/report/study/priced.js';
import { verdict } from '../../../src/report/study/verdict.js';
import { sweepText } from '../../../src/report/terminal/sweep-text.js';
import { cellFixture, gridFixture } from '../fixtures.js';

const SLOS = { key: 'slo', values: ['25ms', '50ms'] };

function cellWith(summary: Partial<CellResult['summary']>): CellResult {
  const cell = cellFixture({ sloMs: 100, goodputRps: 500 });
  return { ...cell, summary: { ...cell.summary, ...summary } };
}

describe('a sweep of fleets that have prices', () => {
  const KIND = { ok: 1, infer: 1, execUtilization: 0.5, weightsUtilization: 0 };
  const fleets = (attainments: Readonly<Record<string, number>>) =>
    gridFixture({
      vary: [{ key: 'fleet', values: ['few fast', 'many slow', 'idle'] }, SLOS],
      run: ({ fleet, slo }) => {
        const gpus = { 'few fast': 2, 'many slow': 8, idle: 9 }[fleet!]!;
        const kinds: KindFigures[] = [{ kind: 'gpu', gpus, ...KIND }];
        const attainment = attainments[`${fleet} ${slo}`] ?? 1;
        const perHour = { 'few fast': 4, 'many slow': 4.5, idle: 9 }[fleet!]!;
        return cellWith({ attainment, kinds, cost: { perHour, perMillionInTime: perHour / attainment } });
      },
    });

  it('names the cheapest per hour that answers 99 % in time, and per request where none does', () => {
    const results = fleets({
      ...{ 'few fast 25ms': 0.9, 'many slow 25ms': 0.5, 'idle 25ms': 0.98 },
      'few fast 50ms': 0.985,
    });
    expect(cheapestFleet(results)).toEqual({
      title: 'Cheapest with 99 % in time: many slow at SLO 50 ms (4.50 per hour)',
      reason:
        'No fleet answers 99 % in time at SLO 25 ms. Cheapest there per million requests in time: few fast at SLO 25 ms (4.44).',
    });
    expect(sweepText(results)).toContain('Cheapest with 99 % in time: many slow');
  });

  it('says nothing of fleets where prices are missing, or there is one fleet', () => {
    const run = () => cellWith({});
    const fleet = { key: 'fleet', values: ['a', 'b'] };
    expect(cheapestFleet(gridFixture({ vary: [fleet, SLOS], run }))).toBeNull();
    const same = { perHour: 1, perMillionInTime: 1 };
    expect(cheapestFleet(gridFixture({ vary: [SLOS], run: () => cellWith({ cost: same }) }))).toBeNull();
  });
});

describe('a sweep of cases', () => {
  const cases = (goodputs: Readonly<Record<string, number>>) =>
    gridFixture({
      vary: [{ key: 'batches', values: ['near', 'any'] }, SLOS],
      defaults: { slo: '25ms' },
      run: ({ batches, slo }) => cellWith({ goodputRps: goodputs[`${batches} ${slo}`]! }),
    });

  it('names the best one', () => {
    const results = cases({ 'near 25ms': 400, 'any 25ms': 200, 'near 50ms': 450, 'any 50ms': 150 });
    expect(bestCaseText(results)).toBe(
      'The best batches under all 2 conditions: near, 2.0× to 3.0× the next.',
    );
    expect(verdict(results).reason).not.toContain('nothing to recommend');
  });

  it('says which is best where, if that differs', () => {
    const results = cases({ 'near 25ms': 400, 'any 25ms': 200, 'near 50ms': 100, 'any 50ms': 150 });
    expect(bestCaseText(results)).toBe('The best batches: near at SLO 25 ms, any at SLO 50 ms.');
  });
});

describe('a sweep with classes', () => {
  const classOf = (name: string, weight: number, attainment: number): ClassFigures => {
    const { summary } = cellFixture({ sloMs: 100, goodputRps: 500 });
    const { requests, offeredLatencyMs, executedLatencyMs } = summary;
    return {
      ...{ name, weight, share: 0, requests, offeredLatencyMs, executedLatencyMs },
      ...{ offeredRps: 100, goodputRps: 100 * attainment, attainment, gpuShare: 0.5 },
    };
  };
  /** edf serves more requests, and its worst class better; escapement serves more weight. */
  const results = gridFixture({
    vary: [{ key: 'policy.kind', values: ['edf', 'escapement'] }],
    defaults: { 'policy.kind': 'escapement' },
    run: (values) => {
      const [gold, others] = values['policy.kind'] === 'edf' ? [0.6, 0.6] : [1, 0.1];
      return cellWith({
        policy: values['policy.kind']!,
        classes: [classOf('gold', 10, gold), classOf('others', 1, others)],
        goodputRps: 100 * (gold + others),
        weightedAttainment: (10 * gold + others) / 11,
        weightedGoodputRps: 100 * (10 * gold + others),
        weightedOfferedRps: 1100,
      });
    },
  });

  it('recommends what serves the most weight, not the most requests or the worst class', () => {
    expect(verdict(results).title).toBe('Keep policy = escapement');
    expect(sweepText(results)).toContain('by weight');
    expect(sweepText(results)).toContain('91.8 %');
  });

  it('shows attainment by weight and by class in the report', () => {
    const page = sweepPage(results, []);
    for (const text of ['By weight', 'gold attained', 'others attained']) expect(page).toContain(text);
  });
});
