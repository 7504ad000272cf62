import { describe, expect, it } from 'vitest';
import type { CellResult, KindFigures } from '../../../src/record/results.js';
import { sweepPage } from '../../../src/report/pages/sweep-page.js';
import { deploymentOf } from '../../../src/report/study/deploy.js';
import { verdict } from '../../../src/report/study/verdict.js';
import { sweepText } from '../../../src/report/terminal/sweep-text.js';
import { cellFixture, type GridOptions, gridFixture } from '../fixtures.js';

const PRICES: Readonly<Record<string, number>> = { v100: 2.48, t4: 0.35 };
const SPEEDS: Readonly<Record<string, number>> = { v100: 30, t4: 10 };
const EXPERIMENT = `cluster:
  gpus:
    - { kind: v100, count: 1, memory: 16GiB, price: 2.48/h }
    - { kind: t4, count: 2, memory: 16GiB, price: 0.35/h, speed: 0.35 }
`;

/** A V100 answers 30 % in time, a T4 10 %. */
function runOf(values: Readonly<Record<string, string>>, demand = 100): CellResult {
  const cell = cellFixture({ sloMs: 100, goodputRps: 500 });
  const counts = Object.entries(PRICES).map(([kind, price]) => {
    return { kind, price, gpus: Number(values[`cluster.gpus.${kind}`] ?? 1) };
  });
  const perHour = counts.reduce((sum, { gpus, price }) => sum + gpus * price, 0);
  const served = counts.reduce((sum, { kind, gpus }) => sum + gpus * SPEEDS[kind]!, 0);
  const attainment = Math.min(1, served / demand);
  const kinds = counts.map(({ kind, gpus }): KindFigures => {
    return { kind, gpus, ok: 1, infer: 1, execUtilization: 0.5, weightsUtilization: 0 };
  });
  const cost = { perHour, perMillionInTime: attainment === 0 ? null : perHour / attainment };
  return { ...cell, summary: { ...cell.summary, attainment, goodputRps: 10 * served, kinds, cost } };
}

function fleets(options: Partial<GridOptions> = {}) {
  const vary = [
    { key: 'cluster.gpus.v100', values: ['0', '1'] },
    { key: 'cluster.gpus.t4', values: ['2', '7', '11'] },
  ];
  const defaults = { 'cluster.gpus.v100': '1', 'cluster.gpus.t4': '2' };
  const results = gridFixture({ vary, defaults, run: (values) => runOf(values), ...options });
  return { ...results, experiment: EXPERIMENT };
}

describe('a sweep over the GPUs of kinds that have prices', () => {
  it('names the cheapest fleet that answers 99 % in time, as a fleet, and what to paste', () => {
    const results = fleets();
    expect(verdict(results)).toEqual({
      title: 'Cheapest with 99 % in time: 11 × t4 (3.85 per hour)',
      reason:
        'Of the fleets that answer 99 % of the requests in time, the one with the lowest price per hour. One seed: repeat with --seeds 1,2,3,4,5 to see how much the figures vary.',
    });
    const { flags, yaml } = deploymentOf(results)!;
    expect(flags).toBe('--set cluster.gpus.v100=0 --set cluster.gpus.t4=11');
    expect(yaml).toBe(
      'cluster: { gpus: [{ kind: v100, count: 0, memory: 16GiB, price: 2.48/h }, { kind: t4, count: 11, memory: 16GiB, price: 0.35/h, speed: 0.35 }] }',
    );
    // Also where the kinds come from an override.
    const override = 'cluster.gpus=[{ kind: v100 }, { kind: t4, price: 1/h }]';
    expect(deploymentOf({ ...results, overrides: [override] })!.yaml).toBe(
      'cluster: { gpus: [{ kind: v100, count: 0 }, { kind: t4, price: 1/h, count: 11 }] }',
    );
  });

  it('lists fleets by price, those that do the job first, with one column for the fleet', () => {
    const rows = sweepText(fleets())
      .split('\n')
      .filter((line) => / × | fleet /.test(line))
      .slice(0, 7)
      .map((line) => line.trim().split(/ {2,}/));
    expect(rows[0]).toEqual(['fleet', 'req/s', 'attained', 'p99', 'per hour', 'per million in time']);
    expect(rows.map(([fleet]) => fleet)).toEqual([
      'fleet',
      '11 × t4',
      '1 × v100 + 7 × t4',
      '1 × v100 + 11 × t4',
      '7 × t4',
      '1 × v100 + 2 × t4',
      '2 × t4',
    ]);
    const page = sweepPage(fleets(), []);
    expect(page).toContain('<h1>Cheapest with 99 % in time: 11 × t4 (3.85 per hour)</h1>');
    expect(page).toContain('Cheapest fleet');
  });

  it('takes thresholds instead of 99 % where there are some', () => {
    expect(verdict({ ...fleets(), required: ['attainment>=70%'] }).title).toBe(
      'Cheapest with attainment>=70%: 7 × t4 (2.45 per hour)',
    );
    const none = { ...fleets(), required: ['attainment>=70%', 'goodputRps>1e6'] };
    expect(verdict(none)).toMatchObject({
      title: expect.stringContaining('Cheapest per request in time'),
      reason: expect.stringContaining('No fleet meets attainment>=70% and goodputRps>1e6.'),
    });
    expect(deploymentOf(none)).toBeNull();
  });

  it('names one for each condition, and one for all of them', () => {
    const vary = [...fleets().vary, { key: 'slo', values: ['25ms', '50ms'] }];
    const run = (values: Readonly<Record<string, string>>) => runOf(values, values.slo === '25ms' ? 100 : 70);
    const { title, reason } = verdict(fleets({ vary, run }));
    expect(title).toBe(
      'Cheapest with 99 % in time: 11 × t4 at SLO 25 ms (3.85 per hour); 7 × t4 at SLO 50 ms (2.45 per hour)',
    );
    expect(reason).toContain('One for all of them: 11 × t4, 3.85 per hour.');
    expect(deploymentOf(fleets({ vary, run }))!.flags).toContain('t4=11');
    const never = (values: Readonly<Record<string, string>>) =>
      runOf(values, values.slo === '25ms' ? 1e3 : 70);
    expect(deploymentOf(fleets({ vary, run: never }))).toBeNull();
  });
});

describe('a sweep without a run of the default', () => {
  const unpriced = (seeds: readonly number[] = [1]) =>
    fleets({
      seeds,
      defaults: {},
      run: (values) => {
        const cell = runOf(values);
        const { cost: _, ...summary } = cell.summary;
        return { ...cell, summary };
      },
    });

  it('has no columns and no chart for it', () => {
    const text = sweepText(unpriced());
    expect(text).toContain('Deploy 1 × v100 + 11 × t4');
    expect(text).not.toContain('default');
    expect(text).not.toContain('not run');
    expect(sweepPage(unpriced(), [])).not.toContain('not run');
  });
});
