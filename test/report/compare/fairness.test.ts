import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../../src/record/results.js';
import { compareRuns } from '../../../src/report/compare/compare.js';
import { comparisonText } from '../../../src/report/terminal/summary-text.js';
import { modelFixture, runFixture } from '../fixtures.js';

const BASE = runFixture({ sloMs: 50, goodputRps: 480 });

/** Twelve models with 100 requests each; `served`: those answered in time. A thirteenth has too few to count. */
function run(fairness: number, goodputRps: number, served: readonly number[], rest: Partial<RunResult> = {}) {
  const model = [
    ...served.map((ok, id) => modelFixture(id, `model-${id}`, 100, ok)),
    modelFixture(12, 'rare', 3, 0),
  ];
  return {
    ...BASE,
    setup: { firstUsers: [0], policyOptions: { scheduleAhead: 'auto', fairness } },
    ...rest,
    summary: {
      ...{ ...BASE.summary, policy: 'escapement', goodputRps, ...rest.summary, by: { model } },
      worstModel:
        served.length === 0 ? null : { name: 'worst', attainment: Math.min(...served) / 100, offered: 100 },
    },
  };
}

const GREEDY = run(0, 400, [100, 100, 100, 100, 100, 100, 100, 100, 90, 80, 4, 0]);
const FAIR = run(0.55, 352, [80, 80, 80, 80, 80, 80, 80, 80, 80, 70, 56, 60]);

const cost = (first: RunResult, other: RunResult) =>
  compareRuns([
    { name: 'A', run: first },
    { name: 'B', run: other },
  ]).headlines[0]!.fairness;

describe('what fairness costs', () => {
  it('is the goodput lost, next to what the worst models get for it', () => {
    // The worst tenth of twelve models are two.
    expect(cost(GREEDY, FAIR)).toBe(
      'Fairness 0.55 instead of 0: goodput 400/s → 352/s (-48/s, -12.0 %); worst tenth of models 2.0 % → 58.0 % (+56.0 pp); worst model attainment 0 % → 56.0 % (+56.0 pp).',
    );
  });

  it('is a gain the other way around', () => {
    expect(cost(FAIR, GREEDY)).toMatch(/^Fairness 0 instead of 0.55: goodput .* \(\+48\/s, \+13\.6 %\); /);
  });

  it('may be nothing', () => {
    expect(cost(GREEDY, run(0.3, 400, [100]))).toMatch(
      /^Fairness 0.3 instead of 0: goodput 400\/s → 400\/s \(=\); /,
    );
  });

  it('counts the weight of classes where there are some', () => {
    const weighted = ({ summary, ...rest }: RunResult, weightedGoodputRps: number) => ({
      ...rest,
      summary: { ...summary, weightedGoodputRps },
    });
    expect(cost(weighted(GREEDY, 1000), weighted(FAIR, 750))).toContain(
      ': goodput by weight 1,000/s → 750/s (-250/s, -25.0 %); worst tenth',
    );
  });

  it('says nothing of models where none has enough requests', () => {
    expect(cost(run(0, 400, []), run(0.55, 300, []))).toBe(
      'Fairness 0.55 instead of 0: goodput 400/s → 300/s (-100/s, -25.0 %).',
    );
  });

  it.each<[string, RunResult]>([
    ['the same fairness', run(0, 352, [100])],
    ['another seed', run(0.55, 352, [100], { summary: { ...BASE.summary, seed: 2 } })],
    ['another experiment', run(0.55, 352, [100], { experiment: 'seed: 1' })],
    ['another override', run(0.55, 352, [100], { overrides: ['cluster.gpus=2'] })],
    [
      'another option',
      run(0.55, 352, [100], { setup: { firstUsers: [0], policyOptions: { fairness: 0.55 } } }),
    ],
    ['a policy without fairness', run(0.55, 352, [100], { setup: { firstUsers: [0], policyOptions: {} } })],
    ['a run of an earlier version', run(0.55, 352, [100], { setup: { firstUsers: [0] } })],
  ])('is not known from %s', (_, other) => {
    expect(cost(GREEDY, other)).toBeNull();
  });

  it('is a line of its own on the terminal, whatever the override that set it', () => {
    const fair = { ...FAIR, overrides: ['policy.fairness=0.55'] };
    const text = comparisonText(
      compareRuns([
        { name: 'A', run: GREEDY },
        { name: 'B', run: fair },
      ]),
    );
    expect(text).toMatch(/\nFairness 0.55 instead of 0: goodput 400\/s → 352\/s /);
  });
});
