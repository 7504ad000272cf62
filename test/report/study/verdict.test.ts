import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SweepResults } from '../../../src/record/results.js';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { summaryText } from '../../../src/report/index.js';
import { bestTable } from '../../../src/report/pages/best-table.js';
import { valuesLabel } from '../../../src/report/quantity.js';
import { commonChoice, nothingFrom, recommend } from '../../../src/report/study/analyze.js';
import { deploymentOf } from '../../../src/report/study/deploy.js';
import { choiceLabel } from '../../../src/report/study/finding.js';
import { aggregate, scoreOf } from '../../../src/report/study/points.js';
import { verdict } from '../../../src/report/study/verdict.js';
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

describe('one verdict', () => {
  it('is given by sentence, table, rings and the line to paste, whatever the results', () => {
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
          fc.pre(nothingFrom(results) === null);
          const recommendations = recommend(results);
          const common = commonChoice(results, recommendations);
          const chosen = common?.choice ?? recommendations[0]!.choice;
          const { title, reason } = verdict(results);

          expect(title.replace(/^(Deploy|Keep) /, '')).toBe(
            Object.entries(chosen)
              .map(
                ([key, value]) =>
                  `${{ 'policy.kind': 'policy' }[key] ?? 'schedule_ahead'} = ${value.replace('ms', ' ms')}`,
              )
              .join(', '),
          );
          expect(deploymentOf(results)!.flags).toBe(
            Object.entries(chosen)
              .map(([key, value]) => `--set ${key}=${value}`)
              .join(' '),
          );
          expect(ringed(results)).toEqual(recommendations.map(({ best }) => valuesLabel(best.values)).sort());
          const page = bestTable(recommendations, common).text;
          const lines = summaryText(results).split('\n');
          for (const { choice, conditions } of recommendations) {
            expect(page).toContain(`<strong>${choiceLabel(choice)}</strong>`);
            const slo = conditions.slo?.replace('ms', ' ms') ?? '';
            expect(
              lines.some((line) => line.trim().startsWith(slo) && line.includes(choiceLabel(choice))),
            ).toBe(true);
          }
          const said = /(?:: |^)(?!It )(\S+(?: \([^)]*\))?) gives /.exec(reason)?.[1];
          if (said !== undefined) expect(said).toBe(choiceLabel(chosen));
          if (reason.includes('the highest goodput at every')) {
            for (const [i, { best }] of recommendations.entries()) {
              expect(common!.points[i]).toBe(best);
              const same = aggregate(results).filter(({ values }) => values.slo === best.values.slo);
              expect(scoreOf(best)).toBe(Math.max(...same.map(scoreOf)));
            }
            expect(reason).not.toContain('the best there is');
          }
        },
      ),
      { numRuns: 150 },
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

  it('does not call a choice best everywhere and name another one next to it', () => {
    const goodput: Record<string, number> = {
      '10ms edf 1': 464,
      '10ms escapement auto 1': 463.6,
      '50ms escapement auto 1': 694,
    };
    const results = policiesAt(['10ms', '50ms'], [1], (id) => goodput[id] ?? 36);
    const { title, reason } = verdict(results);
    expect(title).toBe('Deploy policy = escapement, schedule_ahead = auto');
    expect(reason).toContain(
      'One choice for every tested SLO: at most 0.1 % below the highest goodput at any of them.',
    );
    expect(reason).toContain('escapement (auto) gives 694 req/s');
    const [tight] = recommend(results);
    expect(choiceLabel(tight!.choice)).toBe('edf');
    expect(tight!.tied.map(({ choice }) => choiceLabel(choice))).toEqual(['escapement (auto)']);
    expect(summaryText(results)).toMatch(/^10 ms .* edf +464 .* escapement \(auto\)$/m);
  });

  it('keeps to the least worst loss by means, with whatever number of seeds', () => {
    // Seeds disagree widely, so that nothing is told apart; by means escapement (auto) loses nothing anywhere.
    const noise = [30, -40, 25, -15];
    for (const count of [1, 2, 4]) {
      const seeds = [1, 2, 3, 4].slice(0, count);
      const results = policiesAt(['10ms', '50ms'], seeds, (id) => {
        const seed = Number(id.split(' ').at(-1));
        if (id.includes('escapement auto')) return 800;
        return id.includes('edf') ? 700 + noise[seed - 1]! : 36;
      });
      const { title, reason } = verdict(results);
      expect(title).toBe('Deploy policy = escapement, schedule_ahead = auto');
      expect(reason.includes('repeat with --seeds')).toBe(count < 3);
      expect(recommend(results).map(({ best }) => choiceLabel(best.choice))).toEqual(
        Array(2).fill('escapement (auto)'),
      );
    }
  });

  it('names a tie that the seeds leave, but takes neither it nor the common choice for the best', () => {
    const goodput: Record<string, number[]> = { '10ms edf': [420, 480], '10ms escapement auto': [430, 430] };
    const results = policiesAt(['10ms', '50ms'], [1, 2], (id) => {
      const seed = Number(id.slice(-1));
      if (id.startsWith('50ms escapement auto')) return 900;
      return goodput[id.slice(0, -2)]?.[seed - 1] ?? 36;
    });
    const [tight] = recommend(results);
    expect(verdict(results).title).toBe('Deploy policy = escapement, schedule_ahead = auto');
    expect(choiceLabel(tight!.choice)).toBe('edf');
    expect(tight!.tied.map(({ choice }) => choiceLabel(choice))).toContain('escapement (auto)');
  });

  it('says what would do better where one choice for all is not the best', () => {
    const goodput: Record<string, number> = {
      '10ms edf 1': 400,
      '50ms edf 1': 500,
      '10ms escapement auto 1': 300,
      '50ms escapement auto 1': 900,
    };
    const { title, reason } = verdict(policiesAt(['10ms', '50ms'], [1], (id) => goodput[id] ?? 36));
    expect(title).toBe('Deploy policy = escapement, schedule_ahead = auto');
    expect(reason).toContain('at most 25.0 % below the highest goodput at any of them');
  });

  it('says first whom the choice starves', () => {
    const results = policiesAt(['10ms', '50ms'], [1], (id) => (id.includes('edf') ? 500 : 36));
    const cells = results.cells.map((cell) => {
      if (cell.status === 'failed' || cell.id !== '50ms edf 1') return cell;
      const worstModel = { name: 'bert', attainment: 0, offered: 90 };
      const summary = { ...cell.result.summary, worstModel, modelsBelow50: 30, modelsAssessed: 305 };
      return { ...cell, result: { ...cell.result, summary } };
    });
    const { title, reason } = verdict({ ...results, cells });
    expect(title).toBe('Deploy policy = edf');
    expect(reason).toMatch(
      /^At SLO 50 ms, 30 of the 305 models with at least 20 requests get less than half of them in time, the worst \(bert\) 0 %\. /,
    );
  });
});

/** A sweep at one SLO or more with these goodputs and attainments by `id` without its seed. */
function judged(
  slos: readonly string[],
  runs: Readonly<Record<string, { goodput: number; attainment: number }>>,
  required: readonly string[] = [],
): SweepResults {
  const of = (id: string) => runs[id.replace(/ \d+$/, '')] ?? { goodput: 36, attainment: 0.1 };
  const results = policiesAt(slos, [1, 2, 3], (id) => of(id).goodput);
  const cells = results.cells.map((cell) => {
    if (cell.status === 'failed') return cell;
    const { attainment } = of(cell.id);
    const fairness = { worstModel: null, modelsBelow50: 0, modelsAssessed: 93 };
    const summary = { ...cell.result.summary, attainment, ...fairness };
    return { ...cell, result: { ...cell.result, summary } };
  });
  return { ...results, cells, ...(required.length === 0 ? {} : { required }) };
}

describe('a verdict with thresholds', () => {
  const runs = {
    '10ms edf': { goodput: 500, attainment: 0.9 },
    '10ms escapement auto': { goodput: 450, attainment: 0.99 },
  };

  it('recommends only what meets them', () => {
    expect(verdict(judged(['10ms'], runs)).title).toBe('Deploy policy = edf');
    const results = judged(['10ms'], runs, ['attainment>=98%']);
    const { title, reason } = verdict(results);
    expect(title).toBe('Deploy policy = escapement, schedule_ahead = auto');
    expect(reason).toContain('Only choices that meet attainment>=98% are considered.');
    expect(deploymentOf(results)!.flags).toContain('escapement');
  });

  it('says that nothing meets them, and gives nothing to paste', () => {
    const results = judged(['10ms'], runs, ['attainment>=99.9%']);
    const { title, reason } = verdict(results);
    expect(title).toBe('No choice meets attainment>=99.9%');
    expect(reason).toMatch(/^Without that, it would be policy = edf\. /);
    expect(deploymentOf(results)).toBeNull();
  });

  it('names the conditions at which the choice misses them', () => {
    const results = judged(['10ms', '50ms'], { ...runs, '50ms edf': { goodput: 600, attainment: 1 } }, [
      'attainment>=99.5%',
    ]);
    const { title, reason } = verdict(results);
    expect(title).toBe('Deploy policy = edf');
    expect(reason).toContain('It does not meet attainment>=99.5% at SLO 10 ms, where no choice does.');
  });
});

describe('a verdict where nothing works', () => {
  it('recommends nothing', () => {
    const results = policiesAt(['10ms', '50ms'], [1], () => 0);
    const attaining = (attainment: number | null) => ({
      ...results,
      cells: results.cells.map((cell) =>
        cell.status === 'failed'
          ? cell
          : {
              ...cell,
              result: { ...cell.result, summary: { ...cell.result.summary, attainment } },
            },
      ),
    });
    const none = attaining(0);
    expect(verdict(none).title).toBe('Nothing was served in time');
    expect(deploymentOf(none)).toBeNull();
    expect(verdict(attaining(null)).title).toBe('Nothing was offered');
    for (const { best, default: usual } of recommend(none)) expect(best).toBe(usual);
  });
});
