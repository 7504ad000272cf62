import type { FailureCounts } from '../../record/causes.js';
import type { Threshold } from '../../record/threshold.js';
import type { TargetFigure, Verdict } from './judge.js';
import type { Over } from './over.js';

/** A finished plan, written as `plan.json`. Does not depend on the number of threads. */
export type Plan = KeyPlan | FleetPlan;

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
  /** True: they must also hold after the loss of any one GPU. */
  readonly survives: boolean;
  readonly seeds: readonly number[];
}

interface PlanFacts extends PlanInputs {
  /** The answer in words, after a warning if the end of the range bounds it. */
  readonly headline: string;
  /** The best tried value that meets every target; null if none does. */
  readonly answer: string | null;
  /** The closest miss; null if there is an answer, or nothing was tried. */
  readonly closest: string | null;
  /** Caveats about the answer. One line each. */
  readonly notes: readonly string[];
  /** The answer in scenarios; absent unless asked for, and without an answer. */
  readonly whatIfs?: WhatIfs;
}

/** A plan for the best value of one key. */
export interface KeyPlan extends PlanFacts {
  readonly version: 3;
  readonly over: Over;
  readonly resolution: string;
  /**
   * `boundary`: values beyond the answer miss the target. `whole`: both ends of the range meet it, so the range does
   * not bind. `none`: no value that was tried meets it.
   */
  readonly outcome: 'boundary' | 'whole' | 'none';
  /** Superlative of the answer among values that meet: `fewest`, `highest`. */
  readonly superlative: string;
  /** The last value that misses, next to the answer; null if the range does not bind, or without an answer. */
  readonly before: string | null;
  /** Every tried value, ascending. */
  readonly tried: readonly Tried[];
}

/** A plan for the cheapest fleet. */
export interface FleetPlan extends PlanFacts {
  readonly version: 2;
  readonly minimize: 'cost';
  /** A range for each kind. */
  readonly over: readonly Over[];
  readonly outcome: 'found' | 'none';
  readonly effort: FleetEffort;
  /** Confidence in the answer; null without an answer, and without several seeds that change its runs. */
  readonly confidence: Confidence | null;
  /** Every fleet that was run, cheapest first. */
  readonly tried: readonly TriedFleet[];
}

/** Numbers of fleets by fate: `run`, `ruledOut` and `spared` add up to `fleets`. */
interface FleetEffort {
  readonly fleets: number;
  readonly run: number;
  /** Fleets with which no scheduler could meet the targets, by upper bounds. */
  readonly ruledOut: number;
  /** Fleets at least as expensive as the answer; without one, fleets that cannot meet the targets either. */
  readonly spared: number;
  readonly runs: number;
  /** Number of runs for all fleets. */
  readonly runsOfAll: number;
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

export interface Tried {
  /** Value as given to `--over`, or the name of a fleet or scenario. */
  readonly value: string;
  /** For people. */
  readonly name: string;
  /** Changes to the experiment, in the form of `--set`. */
  readonly settings: readonly string[];
  readonly meets: Verdict;
  /** Results in the order of the targets; empty if the value could not run. */
  readonly figures: readonly TargetFigure[];
  /**
   * Share of the offered requests that were answered within their SLO, mean over the seeds that offered any; null: none
   * did, or the value could not run.
   */
  readonly attainment: number | null;
  /** Price of its GPUs per hour; absent as the next. */
  readonly costPerHour?: number;
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
  /** Share of the offered requests that the rates of tenants refuse, with any GPUs; mean over the seeds; absent: none. */
  readonly overRate?: number;
  /** Present if no seed changes the run: it is one sample, run with the first seed only. */
  readonly isOneSample?: true;
  /** Why the value could not run, which counts as a miss. */
  readonly refused?: string;
  /** Why no cluster could meet the targets with these requests: tenants' rates admit too few of them. */
  readonly unreachable?: string;
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
  readonly worst: readonly {
    readonly name: string;
    readonly attainment: number;
    /** Number of its requests that were not answered in time, and why. */
    readonly failed: number;
    readonly causes: FailureCounts;
  }[];
}

export interface TriedFleet extends Tried {
  /** Number of GPUs of each planned kind. */
  readonly gpus: Readonly<Record<string, number>>;
  readonly costPerHour: number;
}

export interface WhatIfs {
  /** The first is the experiment itself. */
  readonly scenarios: readonly Tried[];
  /** Null without targets. */
  readonly headroom: Headroom | null;
  /** The GPUs and the policy, as a part of an experiment file. */
  readonly setup: string;
  /** Assumptions of all runs, by subject. */
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

export function isFleetPlan(plan: Plan): plan is FleetPlan {
  return 'minimize' in plan;
}

/** Main result of a plan: its answer, or the closest miss; undefined if nothing was tried. */
export function shownOf<T extends Tried>({
  tried,
  answer,
  closest,
}: Pick<Plan, 'answer' | 'closest'> & { readonly tried: readonly T[] }): T | undefined {
  return tried.find(({ value }) => value === (answer ?? closest));
}

/** True if each value ran only once, since no seed changes a run. */
export function isOneSample(tried: readonly Pick<Tried, 'isOneSample' | 'refused'>[]): boolean {
  const ran = tried.filter(({ refused }) => refused === undefined);
  return ran.length > 0 && ran.every((one) => one.isOneSample);
}

/** Number of runs of a plan. */
export function runCount({ tried }: Pick<Plan, 'tried'>): number {
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
