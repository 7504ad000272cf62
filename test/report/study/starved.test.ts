import { describe, expect, it } from 'vitest';
import type { FinishedCell, ModelFairness } from '../../../src/record/results.js';
import { starvation, starvationText, starvedRunsText } from '../../../src/report/study/starved.js';
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

describe('starvation', () => {
  it('is none while every model gets half', () => {
    expect(starvation([run(0.5, 0), run(null, 0)])).toBeNull();
    expect(starvation([])).toBeNull();
  });

  it('names the worst model of all runs, and the most models below half', () => {
    const starved = starvation([run(0.4, 30), run(0.02, 12), run(1, 0)]);
    expect(starved).toEqual({ name: 'at0.02', attainment: 0.02, below50: 30, assessed: 305 });
    expect(starvationText(starved!)).toBe(
      '30 of the 305 models with at least 20 requests get less than half of them in time, the worst (at0.02) 2.0 %',
    );
  });

  it('speaks of one model in the singular', () => {
    expect(starvationText(starvation([run(0, 1)])!)).toMatch(
      /^1 of the 305 models with at least 20 requests gets less/,
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
