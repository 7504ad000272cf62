import { figureOf } from '../../record/figures.js';
import type { RunResult } from '../../record/results.js';
import { formatPercent } from '../../text/numbers.js';
import { listed } from '../../text/words.js';
import type { ComparedFigure } from './figures.js';
import { changeText } from './format.js';
import type { NamedRun } from './named-run.js';

/** Changes of one run against the first, a sentence each, of figures of the comparison. */
export interface Headline {
  readonly run: string;
  /** Attainment, then the group and the model that lost most of it. */
  readonly text: string;
  /** Goodput and the worst-served models, if the runs differ in fairness between models alone; else null. */
  readonly fairness: string | null;
}

/** Smaller changes of an attainment are not mentioned: half of the last digit that is shown. */
const LOSS = 0.0005;
/** Smaller losses of a part are a handful of requests. */
const PART_LOSS = 0.005;

/** One headline for each run but the first. `figures`: of all runs. */
export function headlinesOf(
  [first, ...others]: readonly NamedRun[],
  figures: readonly ComparedFigure[],
): Headline[] {
  return others.map((other, at) => {
    const i = at + 1;
    const find = (wanted: string) =>
      figures.find(({ name, differences }) => name === wanted && differences[i] !== null);
    const losses = (['group', 'model'] as const).flatMap((dimension) => {
      const lost = lostMost(figures, dimension, i);
      return lost === undefined ? [] : `most lost by ${changeText(lost, i)}`;
    });
    const attainment = figures.find(({ name }) => name === 'attainment')!;
    const fairness = fairnessOf(first!.run, other.run);
    const shown = [
      find('weightedGoodputRps') ?? find('goodputRps'),
      ...['worstTenth', 'worstModelAttainment'].map(find),
    ].flatMap((figure) => (figure === undefined ? [] : changeText(figure, i)));
    return {
      run: other.name,
      text: `${other.name} against ${first!.name}: ${[changeText(attainment, i), ...losses].join('; ')}.`,
      fairness: fairness === null || shown.length === 0 ? null : `${fairness}: ${shown.join('; ')}.`,
    };
  });
}

/** The group or model whose attainment fell most, beyond chance as far as that is known; undefined if none fell. */
function lostMost(figures: readonly ComparedFigure[], dimension: 'group' | 'model', i: number) {
  const changeOf = ({ differences }: ComparedFigure) => differences[i] ?? 0;
  return figures
    .filter(({ name }) => name.startsWith(`${dimension}.`) && name.endsWith('.attainment'))
    .filter((figure) => changeOf(figure) <= -Math.max(PART_LOSS, figure.margins[i] ?? 0))
    .sort((a, b) => changeOf(a) - changeOf(b))[0];
}

/** `Fairness 0.55 instead of 0`; null unless the runs differ in `policy.fairness` alone. */
function fairnessOf(first: RunResult, other: RunResult): string | null {
  const [usual, changed] = [first, other].map((run) => {
    const { experiment, overrides = [], setup, sloMs, summary } = run;
    const { fairness, ...options } = setup?.policyOptions ?? {};
    const others = overrides.filter((override) => !/^(policy|output)\b/.test(override));
    return {
      fairness,
      rest: JSON.stringify([experiment, others, options, sloMs, summary.policy, summary.seed]),
    };
  }) as [{ fairness: unknown; rest: string }, { fairness: unknown; rest: string }];
  const areKnown = typeof usual.fairness === 'number' && typeof changed.fairness === 'number';
  if (!areKnown || usual.fairness === changed.fairness || usual.rest !== changed.rest) return null;
  return `Fairness ${changed.fairness} instead of ${usual.fairness}`;
}

/** Warns of percentiles that fell for executed requests only, while more were dropped: slow ones are missing. */
export function dropWarnings([first, ...others]: readonly NamedRun[]): string[] {
  return others.flatMap((other) => {
    const [usual, dropped] = [droppedShare(first!), droppedShare(other)];
    const fell = (name: string) => {
      const [before, after] = [first!, other].map(({ run }) => figureOf(name)!.read(run.summary));
      return before == null || after == null ? null : after < before;
    };
    const only = ['50', '90', '95', '99'].filter((p) => fell(`executedP${p}`) && fell(`p${p}`) === false);
    if (dropped - usual <= LOSS || only.length === 0) return [];
    return [
      `${other.name}: ${listed(only.map((p) => `p${p}`))} fell of executed requests but not of all offered ones: ${formatPercent(dropped)} of the requests were never executed, ${formatPercent(usual)} in ${first!.name}`,
    ];
  });
}

function droppedShare({ run: { summary } }: NamedRun): number {
  const { offered, ok, late } = summary.requests;
  return offered === 0 ? 0 : 1 - (ok + late) / offered;
}
