import type { Scaler } from '../core/scaler.js';
import type { PolicyOption, PolicyOptions } from '../policies/entry.js';

/** What a scaler is given when it is made. */
export interface ScalerContext {
  /** Work of the whole run in intervals of `hindsightNs`, in GPUs of the first kind: only for those with `needsHindsight`. */
  readonly hindsight: readonly number[];
  readonly hindsightNs: number;
}

/** A scaler as users see it. */
export interface ScalerEntry {
  readonly kind: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, PolicyOption>>;
  /** It knows the arrivals that are still to come: for comparison only, never live. */
  readonly needsHindsight?: boolean;
  /** `options` holds a value for each option that has a default or was given. */
  create(context: ScalerContext, options: PolicyOptions): Scaler;
}
