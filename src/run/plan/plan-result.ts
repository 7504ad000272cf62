import type { Threshold } from '../../record/threshold.js';
import type { TargetFigure, Verdict } from './judge.js';
import type { Over } from './over.js';

/** A finished plan: what was tried, and the answer. Written as `plan.json`; the same whatever the number of threads. */
export interface PlanResult {
  readonly version: 3;
  /** Version of escapement that ran it. */
  readonly escapement: string;
  readonly name: string;
  /** Kind of the policy that ran at every value. */
  readonly policy: string;
  /** The answer in words; where the range does not bound it, that comes first. */
  readonly headline: string;
  /** The experiment as written, and the overrides that hold at every value. */
  readonly experiment: string;
  readonly overrides: readonly string[];
  readonly over: Over;
  readonly resolution: string;
  readonly targets: readonly Threshold[];
  readonly seeds: readonly number[];
  /**
   * `boundary`: values beyond the answer miss the target. `whole`: both ends of the range meet it, so the range does
   * not bind. `none`: no value that was tried meets it.
   */
  readonly outcome: 'boundary' | 'whole' | 'none';
  /** The best value that meets every target, as written; of `whole` only the better end of the range; null: there is none. */
  readonly answer: string | null;
  /** What the answer is among those that meet: `fewest`, `highest`. */
  readonly superlative: string;
  /** The last value that misses, next to the answer; null where the range does not bind, or without an answer. */
  readonly before: string | null;
  /** Of those that miss, the value that came closest; null where there is an answer. */
  readonly closest: string | null;
  /** What to know before trusting the answer. One line each. */
  readonly notes: readonly string[];
  /** Every value that was consulted, ascending. */
  readonly tried: readonly Tried[];
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
