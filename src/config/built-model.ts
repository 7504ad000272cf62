import type { ModelSpec } from '../core/model.js';
import type { ModelSpread } from '../sim/spread.js';

/** A model as it was measured on one kind of GPU, with what its section knows beyond the figures of the scheduler. */
export interface KindModel {
  readonly spec: ModelSpec;
  /** Its ONNX file; null where there is none. */
  readonly file: string | null;
  /** How its measured durations spread; null where that is not known. */
  readonly spread: ModelSpread | null;
}

/** The same with its times on all kinds. */
export interface BuiltModel extends Omit<KindModel, 'spread'> {
  /** By kind. */
  readonly spreads: readonly (ModelSpread | null)[];
}
