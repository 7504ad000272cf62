import type { Scaler } from '../core/scaler.js';
import type { PolicyOption, PolicyOptions } from '../policies/entry.js';

/** Arguments of a scaler's constructor. */
export interface ScalerContext {
  /** Work of the whole run in intervals of `hindsightNs`, in GPUs of the first kind; only with `needsHindsight`. */
  readonly hindsight: readonly number[];
  readonly hindsightNs: number;
}

/** A scaler as users see it. */
export interface ScalerEntry {
  readonly kind: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, PolicyOption>>;
  /** True if it knows future arrivals: for comparison only, never live. */
  readonly needsHindsight?: boolean;
  /** `options` holds a value for each option that has a default or was given. */
  create(context: ScalerContext, options: PolicyOptions): Scaler;
}
