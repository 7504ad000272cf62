import { FEWEST_REQUESTS } from '../../record/model-fairness.js';
import type { RunResult } from '../../record/results.js';
import { formatPercent, formatRate } from '../../text/numbers.js';
import type { NamedRun } from './named-run.js';

/** Cost in goodput of a different fairness between models, and the gain of the worst-served models. */
export interface FairnessCost {
  readonly from: number;
  readonly to: number;
  /** Goodput of both, by weight if there are classes; and the difference as a share of the first, 0 if both are 0. */
  readonly goodputRps: readonly [number, number];
  readonly gained: number;
  /** Mean attainment of the worst-served tenth of the models with enough requests, in each run; null if none has. */
  readonly worstTenth: readonly [number, number] | null;
  /** Lowest attainment of such a model. */
  readonly worst: readonly [number, number] | null;
  /** All of it in one sentence. */
  readonly text: string;
}

/** Cost between two runs that differ in `policy.fairness` alone; null for others. */
export function fairnessCost(first: NamedRun, other: NamedRun): FairnessCost | null {
  const [a, b] = [first.run, other.run];
  const [from, to] = [fairnessOf(a), fairnessOf(b)];
  if (from === null || to === null || from === to || !sameOtherwise(a, b)) return null;
  const [mine, its] = [goodputOf(a), goodputOf(b)];
  if (mine === null || its === null) return null;
  const goodputRps = [mine, its] as const;
  const gained = mine === 0 ? 0 : its / mine - 1;
  const [before, after] = [attainments(a), attainments(b)];
  const known = before.length > 0 && after.length > 0;
  const worstTenth = known ? ([tenthOf(before), tenthOf(after)] as const) : null;
  const worst = known ? ([before[0] as number, after[0] as number] as const) : null;
  const figures = { from, to, goodputRps, gained, worstTenth, worst };
  return { ...figures, text: textOf(figures, a.summary.weightedGoodputRps !== undefined) };
}

function textOf(
  { from, to, goodputRps, gained, worstTenth, worst }: Omit<FairnessCost, 'text'>,
  weighted: boolean,
): string {
  const rates = goodputRps.map(formatRate).join(' → ');
  const change =
    Math.abs(gained) < 0.0005
      ? 'costs nothing'
      : `${gained < 0 ? 'costs' : 'gains'} ${formatPercent(Math.abs(gained))} of ${weighted ? 'weighted ' : ''}goodput`;
  const models =
    worstTenth === null || worst === null
      ? ''
      : `; of the tenth of the models that fares worst ${shares(worstTenth)} is answered in time, of the worst model ${shares(worst)}`;
  return `Fairness ${to} instead of ${from} ${change} (${rates}/s)${models}.`;
}

function shares([from, to]: readonly [number, number]): string {
  return `${formatPercent(to)} instead of ${formatPercent(from)}`;
}

function fairnessOf({ setup }: RunResult): number | null {
  const fairness = setup?.policyOptions?.fairness;
  return typeof fairness === 'number' ? fairness : null;
}

function sameOtherwise(a: RunResult, b: RunResult): boolean {
  const rest = ({ experiment, overrides = [], setup, sloMs, summary }: RunResult) => {
    const { fairness: _, ...options } = setup?.policyOptions ?? {};
    const others = overrides.filter((override) => !override.startsWith('policy'));
    return JSON.stringify([experiment, others, options, sloMs, summary.policy, summary.seed]);
  };
  return rest(a) === rest(b);
}

function goodputOf({ summary }: RunResult): number | null {
  return summary.weightedGoodputRps ?? summary.goodputRps;
}

/** Attainments of the models with enough requests, ascending. */
function attainments({ summary }: RunResult): number[] {
  return summary.by.model
    .filter(({ requests }) => requests.offered >= FEWEST_REQUESTS)
    .flatMap(({ attainment }) => attainment ?? [])
    .sort((x, y) => x - y);
}

function tenthOf(ascending: readonly number[]): number {
  const worst = ascending.slice(0, Math.ceil(ascending.length / 10));
  return worst.reduce((sum, share) => sum + share, 0) / worst.length;
}
