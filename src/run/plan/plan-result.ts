import type { Threshold } from '../../record/threshold.js';
import type { TargetFigure, Verdict } from './judge.js';
import type { Over } from './over.js';

/** A finished plan. Written as `plan.json`; the same whatever the number of threads. */
export type Plan = KeyPlan | FleetPlan;

interface PlanFacts {
  /** Version of escapement that ran it. */
  readonly escapement: string;
  readonly name: string;
  /** Kind of the policy that ran everywhere. */
  readonly policy: string;
  /** The answer in words; where the range does not bound it, that comes first. */
  readonly headline: string;
  /** The experiment as written, and the overrides that hold in every run. */
  readonly experiment: string;
  readonly overrides: readonly string[];
  readonly targets: readonly Threshold[];
  readonly seeds: readonly number[];
  /** Among what was tried, the best that meets every target; null: none does. */
  readonly answer: string | null;
  /** Of those that miss, the one that came closest; null where there is an answer, or nothing was tried. */
  readonly closest: string | null;
  /** What to know before trusting the answer. One line each. */
  readonly notes: readonly string[];
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
  /** What the answer is among those that meet: `fewest`, `highest`. */
  readonly superlative: string;
  /** The last value that misses, next to the answer; null where the range does not bind, or without an answer. */
  readonly before: string | null;
  /** Every value that was consulted, ascending. */
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
  /** How sure the answer is; null without one, and where seeds do not tell. */
  readonly confidence: Confidence | null;
  /** Every fleet that was run, the cheapest first. */
  readonly tried: readonly TriedFleet[];
}

/** What became of the fleets: `run`, `ruledOut` and `spared` add up to `fleets`. */
interface FleetEffort {
  readonly fleets: number;
  readonly run: number;
  /** Fleets with which no scheduler could meet the targets, by upper bounds. */
  readonly ruledOut: number;
  /** Fleets that cost no less than the answer; without one, fleets that cannot meet the targets either. */
  readonly spared: number;
  readonly runs: number;
  /** Runs that all fleets take. */
  readonly runsOfAll: number;
}

/** Each fleet that is judged is one more chance to meet a target by luck. */
export interface Confidence {
  /** Fleets that ran up to the answer, the cheapest first. */
  readonly compared: number;
  /** Whether the answer meets every target with 95 % confidence although so many were judged (Bonferroni). */
  readonly isSure: boolean;
  /** The cheapest fleet of which that holds, with all that are cheaper; null: none that ran. */
  readonly sure: string | null;
}

export interface Tried {
  readonly value: string;
  readonly meets: Verdict;
  /** In the order of the targets; empty where the value could not run. */
  readonly figures: readonly TargetFigure[];
  /**
   * Share of the offered requests that were answered within their SLO, mean over the seeds that offered any; null:
   * none did, or the value could not run.
   */
  readonly attainment: number | null;
  /**
   * Price of a million requests answered in time, mean over the seeds; null: with one of them there were none. Absent where the
   * GPUs have no prices, or the value could not run.
   */
  readonly costPerMillion?: number | null;
  /** Present where no seed changes the run: it is one sample, run with the first seed only. */
  readonly isOneSample?: true;
  /** Why the value could not run, which counts as a miss. */
  readonly refused?: string;
  /** Why no cluster could meet the targets with these requests: tenants' rates let too few of them through. */
  readonly unreachable?: string;
}

export interface TriedFleet extends Tried {
  /** Its name, e.g. `2 × v100 + 5 × t4`. */
  readonly value: string;
  /** GPUs of each planned kind. */
  readonly gpus: Readonly<Record<string, number>>;
  readonly costPerHour: number;
  /** Overrides that make the experiment one with this fleet. */
  readonly settings: readonly string[];
}

export function isFleetPlan(plan: Plan): plan is FleetPlan {
  return 'minimize' in plan;
}

/** What a plan shows first: its answer, or what came closest to one; undefined: nothing was tried. */
export function shownOf<T extends Tried>({
  tried,
  answer,
  closest,
}: Pick<Plan, 'answer' | 'closest'> & { readonly tried: readonly T[] }): T | undefined {
  return tried.find(({ value }) => value === (answer ?? closest));
}

/** Whether the values ran once each, as no seed changes a run. */
export function isOneSample(tried: readonly Pick<Tried, 'isOneSample' | 'refused'>[]): boolean {
  const ran = tried.filter(({ refused }) => refused === undefined);
  return ran.length > 0 && ran.every((one) => one.isOneSample);
}

/** How many runs it took. */
export function runCount({ seeds, tried }: Pick<Plan, 'seeds' | 'tried'>): number {
  return tried.reduce((sum, one) => sum + (one.isOneSample ? 1 : seeds.length), 0);
}

/** Farther than any measured figure is from its limit. Among values without one, more answers in time are nearer. */
const NO_FIGURE = -1e12;

/** The value that missed its targets by least. */
export function closestOf(tried: readonly Tried[], targets: readonly Threshold[]): string {
  const margin = (one: Tried) => leastMargin(one, targets);
  return tried.reduce((best, next) => (margin(next) > margin(best) ? next : best)).value;
}

/** Of the target that is missed by most, as a share of its limit; beyond all of them where it has no figure. */
function leastMargin({ figures, attainment }: Tried, targets: readonly Threshold[]): number {
  const margins = figures.map(({ margin }, i) =>
    margin === null ? NO_FIGURE * (2 - (attainment ?? 0)) : margin / (targets[i]!.limit || 1),
  );
  return margins.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...margins);
}
