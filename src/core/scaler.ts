import type { ModelSpec } from './model.js';

/** Billed GPUs of one kind. */
export interface GpuCount {
  /** In service. */
  readonly on: number;
  /** Ordered, but not yet in service. */
  readonly starting: number;
  /** Finishing outstanding work before they leave. */
  readonly draining: number;
}

/** One kind of GPU as a scaler sees it. Shares of time are means over its GPUs since the last decision. */
export interface ScaledKind extends GpuCount {
  readonly name: string;
  /** Price of one GPU; null: unknown, and all kinds count alike. */
  readonly pricePerHour: number | null;
  /** Time from ordering a GPU until it takes actions. */
  readonly startNs: number;
  /** Limits on the number of GPUs, including those starting. */
  readonly min: number;
  readonly max: number;
  /** Speed relative to the cluster's first kind, as a mean over models. */
  readonly speed: number;
  readonly execUtilization: number;
  readonly weightsUtilization: number;
}

/** Controller state passed to a scaler. Counts are since the last decision; arrays by model cover every model. */
export interface ScalingView {
  readonly nowNs: number;
  /** Time since the last decision, and until the next one. */
  readonly intervalNs: number;
  readonly kinds: readonly ScaledKind[];
  /** Empty slots hold `NO_MODEL`. */
  readonly models: readonly ModelSpec[];
  /** By model: requests that arrived, excluding those over their tenant's rate; and those waiting now. */
  readonly arrivals: Float64Array;
  readonly queued: Float64Array;
  /** By model: EXEC time per request at recent batch sizes, on the cluster's first kind; 0: no data. */
  readonly reachedNs: Float64Array;
  /** By model: SLO of its last request; 0: no data. */
  readonly sloNs: Float64Array;
  /** Requests answered in time; all answered out of those above; failures by `ScalingCause`. */
  readonly ok: number;
  readonly answered: number;
  readonly failed: Readonly<Record<ScalingCause, number>>;
  /** Share of the last interval's requests that would be in time if they came now, as predicted; 1 if none. */
  readonly predictedAttainment: number;
}

/** Reasons why requests failed, as far as relevant to the number of GPUs. */
export type ScalingCause = 'refused' | 'timedOut' | 'cold' | 'late' | 'other';

/** Decision of a scaler. */
export interface ScalingDecision {
  /** GPUs by kind, including those starting; between `min` and `max`. */
  readonly gpus: readonly number[];
  /** Inputs of the rule and its result, so that a reader can recompute the number. */
  readonly reason: string;
}

/**
 * Decides the number of GPUs. Like a policy it is pure: it learns the time and all else from its arguments, and equal
 * calls always lead to equal decisions. Called once per interval.
 */
export interface Scaler {
  readonly name: string;
  decide(view: ScalingView): ScalingDecision;
}
