import type { Threshold } from '../../record/threshold.js';
import type { Over } from './over.js';
import type { Tried } from './plan-result.js';

/** A finished plan for the cheapest fleet. Written as `plan.json`; the same whatever the number of threads. */
export interface FleetPlan {
  readonly version: 1;
  readonly minimize: 'cost';
  /** Version of escapement that ran it. */
  readonly escapement: string;
  readonly name: string;
  /** Kind of the policy that ran with every fleet. */
  readonly policy: string;
  /** The answer in words. */
  readonly headline: string;
  /** The experiment as written, and the overrides that hold for every fleet. */
  readonly experiment: string;
  readonly overrides: readonly string[];
  /** A range for each kind. */
  readonly over: readonly Over[];
  readonly targets: readonly Threshold[];
  readonly seeds: readonly number[];
  readonly outcome: 'found' | 'none';
  /** The cheapest fleet that meets every target, by its name; null: none does. */
  readonly answer: string | null;
  /** Of those that miss, the fleet that came closest; null where there is an answer. */
  readonly closest: string | null;
  readonly effort: FleetEffort;
  /** What to know before trusting the answer. One line each. */
  readonly notes: readonly string[];
  /** Every fleet that was run, the cheapest first. */
  readonly tried: readonly TriedFleet[];
}

/** How much was run to find the answer. */
interface FleetEffort {
  /** Fleets to choose from. */
  readonly fleets: number;
  /** Of these, fleets that were run. */
  readonly run: number;
  /** Of these, fleets with which no scheduler could meet the targets. */
  readonly ruledOut: number;
  readonly runs: number;
  /** Runs that all fleets take. */
  readonly runsOfAll: number;
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
