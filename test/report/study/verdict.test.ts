import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellResult, SweepResults } from '../../../src/record/results.js';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { summaryText } from '../../../src/report/index.js';
import { keyLabel, valueLabel, valuesLabel } from '../../../src/report/quantity.js';
import { commonChoice, recommend } from '../../../src/report/study/analyze.js';
import { aggregate, scoreOf } from '../../../src/report/study/points.js';
import { bestOf, verdict } from '../../../src/report/study/verdict.js';
import {
  cellFixture,
  fleetsFixture,
  type GridOptions,
  gridFixture,
  kindFixture,
  sweepFixture,
} from '../fixtures.js';
import { policiesAt } from '../policies-sweep.js';

/** Values of points with a ring in the charts of goodput. */
function ringed(results: SweepResults): string[] {
  const rings = sweepCharts(results).flatMap(({ name, spec }) => {
    if (!name.startsWith('goodput')) return [];
    const { layer } = spec as unknown as {
      layer: { mark: { size?: number }; data: { values: { note: string; best?: boolean }[] } }[];
    };
    return layer.filter(({ mark }) => mark.size === 230).flatMap(({ data }) => data.values);
  });
  // What is off the axis is drawn in every panel of its conditions.
  return [...new Set(rings.map(({ note }) => note.slice(0, note.lastIndexOf(':'))))].sort();
}

/** A few levels close to each other, so that ties of all kinds are common. */
const level = fc.constantFrom(0, 36, 463.5, 463.6, 464, 464.2, 500, 900);

describe('a verdict', () => {
  it('is the same in title, flags, table and rings, whatever the results', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(level, { minLength: 63, maxLength: 63 }),
        (sloCount, seedCount, levels) => {
          const slos = ['10ms', '25ms', '50ms'].slice(0, sloCount);
          let next = 0;
          const results = policiesAt(
            slos,
            [1, 2, 3].slice(0, seedCount),
            () => levels[next++ % levels.length]!,
          );
          fc.pre(aggregate(results).some((point) => (point.attainment?.mean ?? 0) > 0));
          const recommendations = recommend(results);
          const common = commonChoice(results, recommendations);
          const chosen = Object.entries(common?.choice ?? recommendations[0]!.choice);
          const { title, lines, flags } = verdict(results);
          expect(title.replace(/^(Deploy|Keep) /, '')).toBe(
            chosen.map(([key, value]) => `${keyLabel(key)} = ${valueLabel(value)}`).join(', '),
          );
          expect(flags).toBe(chosen.map(([key, value]) => `--set ${key}=${value}`).join(' '));
          expect(ringed(results)).toEqual(recommendations.map(({ best }) => valuesLabel(best.values)).sort());
          const marked = summaryText(results)
            .split('\n')
            .filter((line) => / best(,| {2})/.test(line));
          expect(marked).toHaveLength(sloCount);
          if (lines[0]?.startsWith('The highest goodput at every')) {
            for (const [i, { best }] of recommendations.entries()) {
              const same = aggregate(results).filter(({ values }) => values.slo === best.values.slo);
              expect(scoreOf(common!.points[i]!)).toBe(Math.max(...same.map(scoreOf)));
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('never recommends what another choice beats, and leaves out of ties what is beaten', () => {
    fc.assert(
      fc.property(fc.array(level, { minLength: 7, maxLength: 7 }), (levels) => {
        let next = 0;
        const results = policiesAt(['10ms'], [1], () => levels[next++]!);
        const [{ best, tied }] = recommend(results) as [ReturnType<typeof recommend>[number]];
        const highest = Math.max(...levels);
        const asGood = levels.filter((one) => highest - one < 0.001 * highest || one === highest);
        expect(best.goodputRps?.mean).toBe(highest);
        expect([best, ...tied].map(({ goodputRps }) => goodputRps!.mean).sort()).toEqual([...asGood].sort());
      }),
    );
  });

  const AUTO = 'Deploy policy = escapement, schedule_ahead = auto';
  const one = 'one seed: no confidence intervals';
  it.each<[string, Record<string, number>, string, string[]]>([
    [
      'is best at every condition',
      { '10ms escapement auto': 500, '50ms escapement auto': 694 },
      AUTO,
      ['The highest goodput at every SLO', one],
    ],
    [
      'loses least',
      { '10ms edf': 400, '50ms edf': 500, '10ms escapement auto': 300, '50ms escapement auto': 900 },
      AUTO,
      ['At most 25.0 % below the highest goodput at every SLO', one],
    ],
    [
      'ties with the best',
      { '10ms edf': 464, '10ms escapement auto': 463.9, '50ms escapement auto': 694 },
      AUTO,
      ['At most 0.1 % below the highest goodput at every SLO', one],
    ],
  ])('takes one choice for all conditions: one that %s', (_, goodput, title, lines) => {
    const results = policiesAt(['10ms', '50ms'], [1], (id) => goodput[id.replace(/ 1$/, '')] ?? 36);
    expect(verdict(results)).toMatchObject({ title, lines });
  });

  it('keeps to the least worst loss by means, with whatever number of seeds', () => {
    // Seeds disagree widely, so that nothing is told apart; by means escapement (auto) loses nothing anywhere.
    const noise = [30, -40, 25, -15];
    for (const [count, certainty] of [
      [1, one],
      [4, '±: 95 % confidence over 4 seeds'],
    ] as const) {
      const results = policiesAt(['10ms', '50ms'], [1, 2, 3, 4].slice(0, count), (id) => {
        if (id.includes('escapement auto')) return 800;
        return id.includes('edf') ? 700 + noise[Number(id.split(' ').at(-1)) - 1]! : 36;
      });
      expect(verdict(results)).toMatchObject({ title: AUTO, lines: [expect.any(String), certainty] });
    }
  });
});

/** A sweep over SLOs with these goodputs and attainments by `id` without its seed. */
function judged(slos: readonly string[], required: readonly string[] = []): SweepResults {
  const runs: Readonly<Record<string, readonly [number, number]>> = {
    '10ms edf': [500, 0.9],
    '10ms escapement auto': [450, 0.99],
    '50ms edf': [600, 1],
  };
  const of = (id: string) => runs[id.replace(/ \d+$/, '')] ?? [36, 0.1];
  const results = policiesAt(slos, [1, 2, 3], (id) => of(id)[0]);
  const cells = results.cells.map((cell) => {
    if (cell.status === 'failed') return cell;
    const fairness = { worstModel: null, modelsBelow50: 0, modelsAssessed: 93 };
    const summary = { ...cell.result.summary, attainment: of(cell.id)[1], ...fairness };
    return { ...cell, result: { ...cell.result, summary } };
  });
  return { ...results, cells, ...(required.length === 0 ? {} : { required }) };
}

describe('thresholds', () => {
  it.each<[readonly string[], readonly string[], string, boolean]>([
    [['10ms'], [], 'Deploy policy = edf', true],
    [['10ms'], ['attainment>=98%'], 'Deploy policy = escapement, schedule_ahead = auto', true],
    [['10ms'], ['attainment>=99.9%'], 'No choice meets attainment>=99.9%', false],
    [['10ms', '50ms'], ['attainment>=99.5%'], 'Deploy policy = edf', true],
  ])('at %s that require %s', (slos, required, title, hasFlags) => {
    const found = verdict(judged(slos, required));
    expect([found.title, found.flags !== null]).toEqual([title, hasFlags]);
  });
});

const PRICES: Readonly<Record<string, number>> = { v100: 2.48, t4: 0.35 };
const SPEEDS: Readonly<Record<string, number>> = { v100: 30, t4: 10 };

/** A V100 answers 30 % of a demand of 100 in time, a T4 10 %. */
function fleetRun(values: Readonly<Record<string, string>>, demand = 100): CellResult {
  const cell = cellFixture({ sloMs: 100, goodputRps: 500 });
  const counts = Object.entries(PRICES).map(([kind, price]) => {
    return { kind, price, gpus: Number(values[`cluster.gpus.${kind}`] ?? 1) };
  });
  const perHour = counts.reduce((sum, { gpus, price }) => sum + gpus * price, 0);
  const served = counts.reduce((sum, { kind, gpus }) => sum + gpus * SPEEDS[kind]!, 0);
  const attainment = Math.min(1, served / demand);
  const by = { model: [], kind: counts.map(({ kind, gpus }) => kindFixture(kind, gpus)) };
  const cost = { perHour, perMillionInTime: perHour / attainment };
  return { ...cell, summary: { ...cell.summary, attainment, goodputRps: 10 * served, by, cost } };
}

const SCALED = {
  '6 GPUs': { gpus: 6, attainment: 0.97 },
  '8 GPUs': { gpus: 8, attainment: 1 },
  reactive: { scaler: 'reactive', gpus: 5, attainment: 0.985 },
  predictive: { scaler: 'predictive', gpus: 6, attainment: 0.992 },
  // It knows the future, so it cannot be had.
  clairvoyant: { scaler: 'clairvoyant', gpus: 4, attainment: 0.999 },
};
const { reactive, clairvoyant } = SCALED;

function unpriced(results: SweepResults): SweepResults {
  const cells = results.cells.map((cell) => {
    if (cell.status === 'failed') return cell;
    const { cost: _, ...summary } = cell.result.summary;
    return { ...cell, result: { ...cell.result, summary } };
  });
  return { ...results, cells };
}

describe('a sweep over GPUs that have prices', () => {
  const KINDS = [
    { key: 'cluster.gpus.v100', values: ['0', '1'] },
    { key: 'cluster.gpus.t4', values: ['2', '7', '11'] },
  ];
  const SLOS = { key: 'slo', values: ['25ms', '50ms'] };
  const fleets = (options: Partial<GridOptions> & Pick<SweepResults, 'required'> = {}): SweepResults => ({
    ...gridFixture({
      vary: KINDS,
      defaults: { 'cluster.gpus.v100': '1', 'cluster.gpus.t4': '2' },
      run: (values) => fleetRun(values),
      ...options,
    }),
    ...(options.required === undefined ? {} : { required: options.required }),
  });
  const bySlo = (tight: number) => (values: Readonly<Record<string, string>>) =>
    fleetRun(values, values.slo === '25ms' ? tight : 70);
  const named = gridFixture({
    vary: [{ key: 'fleet', values: ['few', 'many'] }, SLOS],
    run: ({ fleet }) =>
      fleetRun({ 'cluster.gpus.v100': '0', 'cluster.gpus.t4': fleet === 'few' ? '2' : '11' }),
  });
  it.each<[SweepResults, string, string | null]>([
    [
      fleets(),
      'Cheapest with 99 % in time: 11 × t4, 3.85 per hour',
      '--set cluster.gpus.v100=0 --set cluster.gpus.t4=11',
    ],
    [
      fleets({ required: ['attainment>=70%'] }),
      'Cheapest with attainment>=70%: 7 × t4, 2.45 per hour',
      '--set cluster.gpus.v100=0 --set cluster.gpus.t4=7',
    ],
    [fleets({ required: ['goodputRps>1e6'] }), 'No fleet reaches goodputRps>1e6', null],
    [
      fleets({ vary: [...KINDS, SLOS], run: bySlo(100) }),
      'Cheapest with 99 % in time: 11 × t4, 3.85 per hour at SLO 25 ms; 7 × t4, 2.45 per hour at SLO 50 ms',
      '--set cluster.gpus.v100=0 --set cluster.gpus.t4=11',
    ],
    [
      fleets({ vary: [...KINDS, SLOS], run: bySlo(1e3) }),
      'Cheapest with 99 % in time: 7 × t4, 2.45 per hour at SLO 50 ms',
      null,
    ],
    [named, 'Cheapest with 99 % in time: many, 3.85 per hour', ''],
    [fleetsFixture(SCALED), 'Cheapest with 99 % in time: predictive, 1.50 per hour', ''],
    [unpriced(fleetsFixture(SCALED)), 'Cheapest with 99 % in time: predictive, 6 GPU-hours', ''],
    [fleetsFixture({ reactive, clairvoyant }), 'No fleet reaches 99 % in time', null],
  ])('names the cheapest that does what is required: %#', (results, title, flags) => {
    expect(verdict(results)).toMatchObject({ title, flags });
  });

  it('is called the cheapest where charts mark it, by what it depends on', () => {
    expect(bestOf(recommend(named))).toBe('cheapest at each SLO');
    expect(bestOf(recommend(fleets()))).toBe('cheapest');
    expect(bestOf(recommend(sweepFixture()))).toBe('best at each SLO');
  });
});
