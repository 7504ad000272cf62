import type { ModelSpec } from '../core/model.js';
import type { ModelSpread } from '../sim/spread.js';

/** A model as it was measured on one kind of GPU, with what its section knows beyond the figures of the scheduler. */
export interface KindModel {
  readonly spec: ModelSpec;
  /** What its file says of named kinds; absent: it is about one. */
  readonly onKind?: ReadonlyMap<string, ModelSpec>;
  /** Whether times on other kinds cannot be derived from `spec`, which is not of the first kind. */
  readonly ofOtherKind?: boolean;
  /** Its ONNX file; null where there is none. */
  readonly file: string | null;
  /** How its measured durations spread; null where that is not known. */
  readonly spread: ModelSpread | null;
}

/** The same with its times on all kinds. */
export interface BuiltModel extends Pick<KindModel, 'spec' | 'file'> {
  /** By kind. */
  readonly spreads: readonly (ModelSpread | null)[];
}
