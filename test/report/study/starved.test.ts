import { describe, expect, it } from 'vitest';
import type { FinishedCell, ModelFairness } from '../../../src/record/results.js';
import type { Point } from '../../../src/report/study/points.js';
import { starvedRunsText, starvedText } from '../../../src/report/study/starved.js';
import { sweepFixture } from '../fixtures.js';

function run(attainment: number | null, modelsBelow50: number): ModelFairness {
  return {
    worstModel: attainment === null ? null : { name: `at${attainment}`, attainment, offered: 100 },
    modelsBelow50,
    modelsBelow90: 40,
    modelsAssessed: 305,
    rareModels: { models: 0, offered: 0, attainment: null },
  };
}

/** Points with these runs, under each SLO. */
function textOf(runs: Readonly<Record<string, readonly ModelFairness[]>>): string {
  const points = Object.entries(runs).map(([slo, summaries]) => {
    const cells = summaries.map((summary) => ({ result: { summary } }));
    return { conditions: slo === '' ? {} : { slo }, cells } as unknown as Point;
  });
  return starvedText([...points, null]);
}

describe('models that a choice starves', () => {
  it('are none while every model gets half', () => {
    expect(textOf({ '10ms': [run(0.5, 0), run(null, 0)], '50ms': [] })).toBe('');
  });

  it('are named where there are most, with the worst of all runs there', () => {
    expect(textOf({ '10ms': [run(0.1, 3)], '50ms': [run(0.4, 30), run(0.02, 12), run(1, 0)] })).toBe(
      'At SLO 50 ms, 30 of the 305 models with at least 20 requests get less than half of them in time, the worst (at0.02) 2.0 %.',
    );
    expect(textOf({ '': [run(0, 1)] })).toMatch(
      /^With it, 1 of the 305 models with at least 20 requests gets less/,
    );
  });
});

describe('runs of a sweep that starve a model', () => {
  it('are counted, and the worst of them is named', () => {
    const sweep = sweepFixture({ seeds: [1] });
    const done = sweep.cells as FinishedCell[];
    const hit = done.filter(({ result }) => result.summary.modelsBelow50 > 0);
    expect(hit.length).toBeGreaterThan(2);
    // The fixture's lowest goodput is that of 10 ms booked 50 ms ahead.
    expect(starvedRunsText(sweep)).toMatch(
      new RegExp(
        `^In ${hit.length} of ${done.length} runs some model gets less than half of its requests in time; the worst: resnet50_v2_4, 0\\.1 % of 80\\d at .*50 ms.*10 ms\\.$`,
      ),
    );
    const fed = done.filter((cell) => !hit.includes(cell));
    expect(starvedRunsText({ ...sweep, cells: fed })).toBe('');
  });
});
