import type { Threshold } from '../metrics/threshold.js';
import type { TargetFigure, Verdict } from './judge.js';
import type { Over } from './over.js';

/** A finished plan: what was tried, and the answer. Written as `plan.json`; the same whatever the number of threads. */
export interface PlanResult {
  readonly version: 1;
  readonly name: string;
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
  /** The best value that meets every target, as written; null: there is none. */
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
  /** Why the value could not run, which counts as a miss. */
  readonly refused?: string;
}
