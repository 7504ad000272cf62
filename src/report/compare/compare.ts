import type { RunKind } from '../../record/results.js';
import { formatSlo } from '../../text/numbers.js';
import { generatorWarnings } from '../generator.js';
import { type ComparedFigure, comparedFigures } from './figures.js';
import { changeText } from './format.js';
import type { NamedRun } from './named-run.js';

/** Runs side by side. The first is the reference. */
export interface Comparison {
  readonly runs: readonly ComparedRun[];
  /** Changes of each run but the first. */
  readonly headlines: readonly Headline[];
  /** Reasons why the runs are not comparable, and misleading figures; one line each. */
  readonly warnings: readonly string[];
  readonly figures: readonly ComparedFigure[];
}

/** One of the compared runs. */
export interface ComparedRun {
  readonly name: string;
  readonly experiment: string;
  readonly kind: RunKind;
  /** Null for a load, like the digest. */
  readonly policy: string | null;
  readonly seed: number | string;
  readonly digest: string | null;
  readonly overrides: readonly string[];
}

/** Compares runs with the first, figure by figure. `runs` must not be empty. */
export function compareRuns(runs: readonly NamedRun[]): Comparison {
  const figures = comparedFigures(runs.map(({ run }) => run));
  const [first, ...others] = runs as [NamedRun, ...NamedRun[]];
  return {
    runs: runs.map(({ name, run: { summary, overrides } }) => ({
      name,
      experiment: summary.name,
      kind: summary.kind,
      policy: summary.policy ?? null,
      seed: summary.seed,
      digest: summary.digest ?? null,
      overrides: overrides ?? [],
    })),
    headlines: headlinesOf(runs, figures),
    warnings: [
      ...others.flatMap((other) => differencesThatMatter(first, other)),
      // Requests sent late can explain differences alone.
      ...runs.flatMap(({ name, run }) => generatorWarnings(run).map((warning) => `${name}: ${warning}`)),
    ],
    figures,
  };
}

/**
 * Differences that make a run not comparable with the first, one line each: another experiment, seed, SLO or length.
 * Other overrides are not listed, since they are usually the point of the comparison.
 */
function differencesThatMatter(first: NamedRun, other: NamedRun): string[] {
  const settingsOf = ({ run: { summary, sloMs } }: NamedRun) =>
    [
      ['the seed', String(summary.seed), String(summary.seed)],
      ['the SLO', sloMs, sloMs === null ? 'mixed' : formatSlo(sloMs)],
      ['the duration', summary.durationSeconds, `${summary.durationSeconds} s`],
    ] as const;
  const usual = settingsOf(first);
  return [
    ...(first.run.experiment === other.run.experiment
      ? []
      : [`${other.name}: its experiment file differs from that of ${first.name}`]),
    ...settingsOf(other).flatMap(([what, value, text], i) =>
      isSame(value, usual[i]![1])
        ? []
        : [`${other.name}: ${what} is ${text}, that of ${first.name} is ${usual[i]![2]}`],
    ),
  ];
}

/** Durations that differ by less than this share of the larger are equal: a run may end at its last arrival. */
const NOISE = 0.001;

function isSame(a: number | string | null, b: number | string | null): boolean {
  if (typeof a !== 'number' || typeof b !== 'number') return a === b;
  return Math.abs(a - b) <= NOISE * Math.max(Math.abs(a), Math.abs(b));
}

/** Changes of one run against the first. */
interface Headline {
  readonly run: string;
  /** Change of attainment, then the group and the model that lost most. */
  readonly text: string;
}

/** Smallest loss of a part that is reported: less is a handful of requests. */
const PART_LOSS = 0.005;

/** One headline for each run but the first. `figures`: of all runs. */
function headlinesOf(
  [first, ...others]: readonly NamedRun[],
  figures: readonly ComparedFigure[],
): Headline[] {
  return others.map((other, at) => {
    const i = at + 1;
    const losses = (['group', 'model'] as const).flatMap((dimension) => {
      const lost = lostMost(figures, dimension, i);
      return lost === undefined ? [] : `most lost by ${changeText(lost, i)}`;
    });
    const attainment = figures.find(({ name }) => name === 'attainment')!;
    return {
      run: other.name,
      text: `${other.name} against ${first!.name}: ${[changeText(attainment, i), ...losses].join('; ')}.`,
    };
  });
}

/**
 * The group or model whose attainment fell most, and by more than its confidence interval if that is known; undefined
 * if none fell.
 */
function lostMost(figures: readonly ComparedFigure[], dimension: 'group' | 'model', i: number) {
  const changeOf = ({ differences }: ComparedFigure) => differences[i] ?? 0;
  return figures
    .filter(({ name }) => name.startsWith(`${dimension}.`) && name.endsWith('.attainment'))
    .filter((figure) => changeOf(figure) <= -Math.max(PART_LOSS, figure.margins[i] ?? 0))
    .sort((a, b) => changeOf(a) - changeOf(b))[0];
}
