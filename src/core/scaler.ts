import type { ModelSpec } from './model.js';

/** GPUs of one kind that are paid for. */
export interface GpuCount {
  /** They take actions. */
  readonly on: number;
  /** Ordered, and not there yet. */
  readonly starting: number;
  /** They finish what they have, and go. */
  readonly draining: number;
}

/** One kind of GPUs as a scaler sees it. Shares of time are since the last decision, means over the GPUs that are on. */
export interface ScaledKind extends GpuCount {
  readonly name: string;
  /** What one costs; null: not known, and all kinds count alike. */
  readonly pricePerHour: number | null;
  /** From the order of a GPU until it takes actions. */
  readonly startNs: number;
  /** How many there may be, those that start included. */
  readonly min: number;
  readonly max: number;
  /** How fast it runs the models relative to the first kind of the cluster, the mean over models. */
  readonly speed: number;
  readonly execUtilization: number;
  readonly weightsUtilization: number;
}

/** What the controller knows when a scaler is asked. Counts are since the last decision; arrays by model have an entry for each. */
export interface ScalingView {
  readonly nowNs: number;
  /** Time since the last decision, and until the next one. */
  readonly intervalNs: number;
  readonly kinds: readonly ScaledKind[];
  /** Empty slots hold `NO_MODEL`. */
  readonly models: readonly ModelSpec[];
  /** Requests that came, by model, but for those beyond the rate of their tenant, and those that wait now. */
  readonly arrivals: Float64Array;
  readonly queued: Float64Array;
  /** By model: EXEC time of a request in the batches that were reached lately, as on the first kind of the cluster; 0: none was seen. */
  readonly reachedNs: Float64Array;
  /** By model: SLO of its last request, 0: none was seen. */
  readonly sloNs: Float64Array;
  /** Requests that were answered in time; all of those above that were answered; those that failed, by `ScalingCause`. */
  readonly ok: number;
  readonly answered: number;
  readonly failed: Readonly<Record<ScalingCause, number>>;
  /** Share of the requests of the last interval that would be in time if they came now, as admission predicts it; 1 if there were none. */
  readonly predictedAttainment: number;
}

/** Why requests failed, as far as it matters for the number of GPUs. */
export type ScalingCause = 'refused' | 'timedOut' | 'cold' | 'late' | 'other';

/** What a scaler wants. */
export interface ScalingDecision {
  /** GPUs by kind, those that start included; between `min` and `max`. */
  readonly gpus: readonly number[];
  /** Why: the inputs of the rule and what it came to, so that a reader can recompute the number. */
  readonly reason: string;
}

/**
 * Decides how many GPUs there should be. Like a policy it is pure: it learns the time and all else from what it is given, and
 * the same calls always lead to the same decisions. Called once in each interval.
 */
export interface Scaler {
  readonly name: string;
  decide(view: ScalingView): ScalingDecision;
}
