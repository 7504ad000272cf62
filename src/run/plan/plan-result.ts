import type { FailureCounts } from '../../record/causes.js';
import type { Threshold } from '../../record/threshold.js';
import { priceText } from '../../report/quantity.js';
import type { TargetFigure, Verdict } from './judge.js';
import type { Over } from './over.js';

/** Question of a plan, and the experiment that it is about. */
export interface PlanInputs {
  /** Version of escapement that ran it. */
  readonly escapement: string;
  readonly name: string;
  /** Kind of the policy in all runs. */
  readonly policy: string;
  /** The experiment as written, and the overrides of every run. */
  readonly experiment: string;
  readonly overrides: readonly string[];
  readonly targets: readonly Threshold[];
  readonly seeds: readonly number[];
}

/** A finished plan, written as `plan.json`. Does not depend on the number of threads. */
export interface Plan extends PlanInputs {
  readonly version: 4;
  /** True: targets must also hold after the loss of any one GPU. */
  readonly survives: boolean;
  /** `cost`: the cheapest fleet is wanted; null: the best value of one key. */
  readonly minimize: 'cost' | null;
  /** The range of the key, or of each kind of GPUs. */
  readonly over: readonly Over[];
  /** Distance of neighboring candidates, for people. */
  readonly resolution: string;
  /** The answer in words, after a warning if the end of the range bounds it. */
  readonly headline: string;
  /**
   * `boundary`: values beyond the answer miss the target. `whole`: both ends of the range meet it, so the range does
   * not bind. `found`: the cheapest fleet was found. `none`: no candidate that was tried meets it.
   */
  readonly outcome: 'boundary' | 'whole' | 'found' | 'none';
  /** The best tried value that meets every target; null if none does. */
  readonly answer: string | null;
  /** The last value that misses, next to the answer; null if there is none. */
  readonly before: string | null;
  /** The closest miss; null if there is an answer, or nothing was tried. */
  readonly closest: string | null;
  /** Caveats about the answer. One line each. */
  readonly notes: readonly string[];
  readonly effort: Effort;
  /** Confidence in the answer; null for one key, without an answer, and without several seeds that change its runs. */
  readonly confidence: Confidence | null;
  /** Every tried candidate: values ascending, fleets cheapest first. */
  readonly tried: readonly Tried[];
  /** The answer in scenarios; absent unless asked for, and without an answer. */
  readonly whatIfs?: WhatIfs;
}

/** Numbers of candidates by fate: `run`, `ruledOut` and `spared` add up to `candidates`. */
interface Effort {
  readonly candidates: number;
  readonly run: number;
  /** Candidates with which no scheduler could meet the targets, by upper bounds. */
  readonly ruledOut: number;
  readonly spared: number;
  readonly runs: number;
}

/** Confidence in an answer, since each fleet that ran is one more chance to meet a target by luck. */
export interface Confidence {
  /** Number of fleets that ran up to the answer, cheapest first. */
  readonly compared: number;
  /** True if it meets every target with 95 % confidence after this many tries (Bonferroni); null: too few seeds to tell. */
  readonly isSure: boolean | null;
  /** The cheapest fleet for which `isSure` holds, counting all cheaper ones; null if none that ran. */
  readonly sure: string | null;
}

/** A candidate of a plan, or a scenario. */
export interface Candidate {
  /** Value as given to `--over`, or the name of a fleet or scenario. */
  readonly value: string;
  /** For people: `62 GPUs`, `SLO 12.4 ms`, `2 × v100 + 5 × t4`. */
  readonly name: string;
  /** Changes to the experiment, in the form of `--set`. */
  readonly settings: readonly string[];
  /** Number of GPUs of each planned kind. */
  readonly gpus?: Readonly<Record<string, number>>;
  /** Price of its GPUs per hour; absent if they have none. */
  readonly costPerHour?: number;
}

export interface Tried extends Candidate {
  readonly meets: Verdict;
  /** Results in the order of the targets; empty if the value could not run. */
  readonly figures: readonly TargetFigure[];
  /**
   * Share of the offered requests that were answered within their SLO, mean over the seeds that offered any; null: none
   * did, or the value could not run.
   */
  readonly attainment: number | null;
  /**
   * Price of a million requests answered in time, mean over the seeds; null if a seed had none. Absent if the GPUs have
   * no prices, or the value could not run.
   */
  readonly costPerMillion?: number | null;
  /** Absent if the value could not run. */
  readonly details?: Details;
  /** Keys of the runs that its figures are about. */
  readonly cells: readonly string[];
  /** The loss that the figures are about, if that is worse than none. */
  readonly lost?: string;
  /** Keys of its other runs, as it is and after losses that are not as bad. */
  readonly otherCells?: readonly string[];
  /** Present if its runs replay a log, or no seed changes them: more seeds tell no more. */
  readonly isReplay?: true;
  /** Why the value could not run, which counts as a miss. */
  readonly refused?: string;
}

/** Figures of a tried value besides those of the targets. */
export interface Details {
  /** Time span of the counted requests. */
  readonly durationSeconds: number;
  /** Requests that count, mean over the seeds. */
  readonly offered: number;
  readonly attainment: TargetFigure;
  readonly goodputRps: TargetFigure;
  readonly p99: TargetFigure;
  /** Failed requests by cause, of all seeds. */
  readonly failures: FailureCounts;
  /** Models and pipelines with the smallest shares of requests answered in time, the worst first, over all seeds. */
  readonly worst: readonly { readonly name: string; readonly attainment: number }[];
}

export interface WhatIfs {
  /** The first is the experiment itself. */
  readonly scenarios: readonly Tried[];
  /** Null without targets. */
  readonly headroom: Headroom | null;
  /** The GPUs and the policy, as a part of an experiment file. */
  readonly setup: string;
  /** Settings and guesses that all runs share, by subject. */
  readonly assumed: readonly (readonly [string, string])[];
}

/** Factor of the traffic up to which the targets hold. */
export interface Headroom {
  /** The largest factor that was found to hold; null: none was. */
  readonly holds: number | null;
  /** The smallest factor above it that misses; null: none was found. */
  readonly misses: number | null;
  /** Factors in the order in which they were tried. */
  readonly tried: readonly Tried[];
}

/** Main result of a plan: its answer, or the closest miss; undefined if nothing was tried. */
export function shownOf({
  tried,
  answer,
  closest,
}: Pick<Plan, 'tried' | 'answer' | 'closest'>): Tried | undefined {
  return tried.find(({ value }) => value === (answer ?? closest));
}

/** Number of runs behind some candidates. */
export function runCount(tried: Plan['tried']): number {
  return tried.reduce((sum, { cells, otherCells = [] }) => sum + cells.length + otherCells.length, 0);
}

/** Farther than any measured figure is from its limit. Among values without one, more answers in time are nearer. */
const NO_FIGURE = -1e12;

/** The one that missed its targets by the least; undefined if nothing was tried. */
export function closestOf(tried: readonly Tried[], targets: readonly Threshold[]): Tried | undefined {
  const margin = (one: Tried) => leastMargin(one, targets);
  return tried.reduce((best, next) => (margin(next) > margin(best) ? next : best), tried[0]!);
}

/** Margin of the target missed by the most, as a share of its limit; below all others if a figure is missing. */
export function leastMargin({ figures, attainment }: Tried, targets: readonly Threshold[]): number {
  const margins = figures.map(({ margin }, i) =>
    margin === null ? NO_FIGURE * (2 - (attainment ?? 0)) : margin / (targets[i]!.limit || 1),
  );
  return margins.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...margins);
}

/** `5 × t4, 1.75 per hour`. */
export function pricedName({ name, costPerHour }: Tried): string {
  return costPerHour === undefined ? name : `${name}, ${priceText(costPerHour)} per hour`;
}
