import { type MeasuredSummary, offeredMs, partOf } from '../../record/figures.js';
import { FEWEST_REQUESTS } from '../../record/model-fairness.js';
import type { RunResult } from '../../record/results.js';
import { formatPercent } from '../../text/numbers.js';
import { listed } from '../../text/words.js';
import { marginBetween, slicedFigure } from '../statistics.js';
import { type FairnessCost, fairnessCost } from './fairness.js';
import type { NamedRun } from './named-run.js';

/** Changes of one run against the first; the largest losses come before sums and percentiles. */
export interface Headline {
  readonly run: string;
  /** Share of the offered requests answered in time: of the first run, and of this one; null: nothing was offered. */
  readonly attainment: { readonly from: number | null; readonly to: number | null };
  /** The group of users whose attainment fell most; null if none fell, or the runs have different groups. */
  readonly groupHurtMost: NamedChange | null;
  /** The model whose attainment fell most, of those with enough requests in both runs. */
  readonly modelHurtMost: NamedChange | null;
  /** Number of models that lost 10 points or more. */
  readonly modelsHurt: number;
  /** Cost of fairness between models; null unless the runs differ in it alone. */
  readonly fairness: FairnessCost | null;
  /** Attainment and the largest losses, in one sentence. */
  readonly text: string;
}

interface Change {
  readonly from: number;
  readonly to: number;
}

const ATTAINMENT = slicedFigure('attainment')!;

type NamedChange = Change & { readonly name: string };

/** Smaller changes of an attainment are not mentioned: half of the last digit that is shown. */
const LOSS = 0.0005;
const MUCH = 0.1;

/** One headline for each run but the first. */
export function headlinesOf([first, ...others]: readonly NamedRun[]): Headline[] {
  return first === undefined ? [] : others.map((other) => headlineOf(first, other));
}

function headlineOf(first: NamedRun, other: NamedRun): Headline {
  const [a, b] = [first.run.summary, other.run.summary];
  const attainment = { from: a.attainment, to: b.attainment };
  const groupHurtMost = hurtMost(groupChanges(first.run, other.run));
  const models = modelChanges(first.run, other.run);
  const modelHurtMost = hurtMost(models);
  const modelsHurt = models.filter(({ from, to }) => from - to >= MUCH).length;
  const parts = [
    `SLO attainment ${shareChange(attainment, marginBetween(first.run, other.run, ATTAINMENT))}`,
    ...(groupHurtMost === null
      ? []
      : [`most hurt: ${groupHurtMost.name} users, ${shareChange(groupHurtMost)}`]),
    ...(modelHurtMost === null
      ? []
      : [
          `model that lost the most: ${modelHurtMost.name}, ${shareChange(modelHurtMost)}${modelsHurt > 1 ? `; ${modelsHurt} models lost 10 points or more` : ''}`,
        ]),
  ];
  return {
    run: other.name,
    attainment,
    groupHurtMost,
    modelHurtMost,
    modelsHurt,
    fairness: fairnessCost(first, other),
    text: `${other.name} against ${first.name}: ${parts.join('; ')}.`,
  };
}

/** Warns of percentiles of executed requests that fell as more were dropped: slow ones are missing, not faster. */
export function dropWarnings([first, ...others]: readonly NamedRun[]): string[] {
  return first === undefined
    ? []
    : others.flatMap((other) => {
        const [a, b] = [first.run.summary, other.run.summary];
        const dropped = droppedShare(b) - droppedShare(a);
        if (dropped <= LOSS) return [];
        const better = (['p50', 'p90', 'p95', 'p99'] as const).filter((name) => {
          const [before, after] = [a.executedLatencyMs[name], b.executedLatencyMs[name]];
          const [allBefore, allAfter] = [offeredMs(a, name), offeredMs(b, name)];
          const fell = before !== null && after !== null && after < before;
          return fell && allBefore !== null && allAfter !== null && allAfter >= allBefore;
        });
        if (better.length === 0) return [];
        return [
          `${other.name}: ${listed(better)} of executed requests fell only because ${formatPercent(dropped)} more of the requests were never executed; over all offered requests ${better.length === 1 ? 'it is' : 'they are'} not better`,
        ];
      });
}

function droppedShare({ requests }: MeasuredSummary): number {
  return requests.offered === 0 ? 0 : 1 - (requests.ok + requests.late) / requests.offered;
}

function groupChanges(first: RunResult, other: RunResult): NamedChange[] {
  return (first.summary.by.group ?? []).flatMap((group) => {
    const same = partOf(other.summary, 'group', group.key);
    const [from, to] = [group.attainment, same === null ? null : same.attainment];
    return from === null || to === null ? [] : [{ name: group.key, from, to }];
  });
}

function modelChanges(first: RunResult, other: RunResult): NamedChange[] {
  const before = new Map(first.summary.by.model.map((model) => [model.id, model]));
  return other.summary.by.model.flatMap(({ id, key, requests, attainment }) => {
    const same = before.get(id);
    if (same === undefined || same.key !== key) return [];
    if (Math.min(requests.offered, same.requests.offered) < FEWEST_REQUESTS) return [];
    return [{ name: key, from: same.attainment!, to: attainment! }];
  });
}

function hurtMost(changes: readonly NamedChange[]): NamedChange | null {
  const lost = changes.filter(({ from, to }) => from - to >= LOSS);
  if (lost.length === 0) return null;
  return lost.reduce((most, one) => (one.from - one.to > most.from - most.to ? one : most));
}

/** `84.1 → 72.6 % (-11.5 points)`; `(-11.5 ± 1.2 points)` if the margin is known. */
function shareChange({ from, to }: Headline['attainment'], margin: number | null = null): string {
  if (from === null || to === null) return `${formatPercent(from)} → ${formatPercent(to)}`;
  const points = (to - from) * 100;
  const change =
    Math.abs(points) < 0.05
      ? 'the same'
      : `${points > 0 ? '+' : '-'}${Math.abs(points).toFixed(1)}${margin === null ? '' : ` ± ${(100 * margin).toFixed(1)}`} points`;
  return `${formatPercent(from).replace(' %', '')} → ${formatPercent(to)} (${change})`;
}
