import { parse, type Spec } from 'vega';
import { compile } from 'vega-lite';
import { describe, expect, it } from 'vitest';
import { planCharts, planPage } from '../../../src/run/plan/charts.js';
import { answerLines, scenariosText } from '../../../src/run/plan/document.js';
import { judge, parseTarget } from '../../../src/run/plan/judge.js';
import type { Plan, Tried } from '../../../src/run/plan/plan-result.js';
import { cellResult } from '../sweep/fixtures.js';

const TARGETS = ['attainment>=0.95', 'attainment>=0.6', 'goodputRps>80', 'late<5%'].map(parseTarget);

describe('charts of a plan', () => {
  it('compile without a warning for every kind of scale', () => {
    for (const { spec } of [...planCharts(planOf(100)), ...planCharts(planOf(9))]) {
      const warnings: string[] = [];
      const note = (...parts: readonly unknown[]) => {
        warnings.push(parts.join(' '));
        return logger;
      };
      const logger = {
        level: () => logger,
        error: note,
        warn: note,
        info: () => logger,
        debug: () => logger,
      };
      parse(compile(spec, { logger: logger as never }).spec as Spec);
      expect(warnings).toEqual([]);
    }
  });
});

describe('a plan', () => {
  it('is one page that says how to repeat it', async () => {
    const page = await planPage(planOf(9));
    expect(page).toContain('--over cluster.gpus=1:9');
    expect(page).toContain('--target &#39;attainment&#62;=0.95&#39;');
    expect(page).toContain('--set slo=50ms');
    expect(page).toContain('--seeds 1,2');
    expect(page).toContain('9 of 9 values ran, 18 runs');
  });

  it('repeats one seed if no other ran, and has prices in full along its axis', async () => {
    const plan = planOf(3);
    const tried = plan.tried.map((one, i) => ({ ...one, cells: ['1'], costPerHour: 0.8 * (i + 1) }));
    const page = await planPage({ ...plan, minimize: 'cost', tried });
    expect(page).not.toContain('--seeds 1,2');
    for (const price of ['0.8', '1.6', '2.4']) expect(page).toContain(`>${price}</text>`);
  });
});

it.each([
  ['attainment>=99%', [0.5, 0.999], undefined],
  ['p99<=100ms', [1, 500], 'the axis is logarithmic'],
])('the chart of %s says so if its axis is not linear', (text, reached, note) => {
  const target = parseTarget(text);
  const tried = reached.map((each, i) => {
    const estimate = { mean: each, low: each, high: each, n: 2, sd: 0, over: null };
    return { ...named(i + 1), figures: [{ ...judge(target, [cellResult(50)]), estimate }] };
  });
  const [chart] = planCharts({ ...planOf(3), targets: [target], tried } as unknown as Plan);
  expect(/the axis is logarithmic/.exec(JSON.stringify(chart!.spec))?.[0]).toBe(note);
});

it('a table of scenarios names the source of every interval in it', () => {
  const plan = planOf(1);
  const figure = (over: string | null) => ({
    ...plan.tried[0]!.figures[0],
    estimate: { mean: 0.9, low: 0.8, high: 1, n: 2, sd: 0, over },
  });
  const details = { attainment: figure('requests'), p99: figure(null), worst: [] };
  const scenarios = [{ ...plan.tried[0]!, figures: [figure(null)], details }];
  const results = { ...plan, targets: [parseTarget('p99<=50ms')], scenarios, headroom: null };
  expect(scenariosText(results as never)).toContain(
    'policy clockwork; ±: 95 % confidence over the number of requests',
  );
});

function named(gpus: number) {
  return { value: String(gpus), name: `${gpus} GPUs`, settings: [`cluster.gpus=${gpus}`] };
}

/** As many values, of which all from the second of three thirds on are said to meet. */
function planOf(size: number): Plan {
  const answer = Math.ceil((2 * size) / 3);
  const tried = Array.from({ length: size }, (_, i): Tried => {
    const share = i + 1 === size ? 97 : 50 + (50 * (i + 1)) / size;
    const figures = TARGETS.map((target) => judge(target, [cellResult(share), cellResult(share - 0.3)]));
    return {
      ...named(i + 1),
      meets: i + 1 >= answer ? 'yes' : 'no',
      figures,
      attainment: share / 100,
      cells: ['1', '2'],
    };
  });
  return {
    ...{ version: 4, escapement: '1.2.3', policy: 'clockwork', name: 'fixture', experiment: 'seed: 1\n' },
    ...{ headline: `Fewest GPUs: ${answer}`, overrides: ['slo=50ms'], targets: TARGETS, survives: false },
    over: [{ key: 'cluster.gpus', from: '1', to: String(size), step: null }],
    ...{ minimize: null, resolution: 'steps of 1', seeds: [1, 2], outcome: 'boundary', confidence: null },
    ...{ answer: String(answer), before: String(answer - 1), closest: null, notes: [], tried },
    effort: { candidates: size, run: size, ruledOut: 0, spared: 0, runs: 2 * size },
  };
}

describe('how sure the answer of a search for fleets is', () => {
  const lines = (confidence: Plan['confidence'], isReplay?: true) => {
    const [target] = TARGETS;
    const figure = judge(target!, [cellResult(98), cellResult(99)]);
    const fleets = ['3 × a', '4 × a'].map((value, i) => ({
      ...{
        value,
        name: value,
        meets: 'yes' as const,
        figures: [figure],
        attainment: 0.985,
        cells: ['1', '2'],
        isReplay,
      },
      ...{ gpus: { a: 3 + i }, costPerHour: 3 + i, settings: [`cluster.gpus.a=${3 + i}`] },
    }));
    const effort = { candidates: 44, run: 24, ruledOut: 7, spared: 13, runs: 72 };
    const plan = { ...planOf(3), minimize: 'cost', answer: '3 × a', targets: [target!], tried: fleets };
    return answerLines({ ...plan, effort, confidence } as Plan).slice(2);
  };
  const effort = '24 of 44 fleets ran, 72 runs; upper bounds rule out 7';

  it('is one line, with the cheapest fleet that is sure', () => {
    expect(lines({ compared: 19, isSure: true, sure: '3 × a' })).toEqual([
      'sure: 95 % confidence in 3 × a after 19 fleets that ran up to its price',
      effort,
    ]);
    expect(lines({ compared: 19, isSure: false, sure: '4 × a' })).toEqual([
      'not sure: 2 seeds give no 95 % confidence in 3 × a after 19 fleets that ran up to its price, but in 4 × a, 4.00 per hour',
      effort,
    ]);
    expect(lines({ compared: 19, isSure: false, sure: null })[0]).toMatch(
      /in 3 × a after .*, nor in any other: add seeds$/,
    );
    expect(lines({ compared: 19, isSure: false, sure: null }, true)[0]).toMatch(
      /, nor in any other: replay a longer log$/,
    );
    expect(lines({ compared: 19, isSure: null, sure: null })[0]).toBe(
      'not known how sure: with each of the 2 seeds a figure is the same',
    );
    expect(lines(null)).toEqual([effort]);
  });
});
