import type { Integers } from './make-inputs.js';
import type { TensorMetadata } from './tensors.js';

/** The model that cases ask, as the server describes it. */
export interface Subject {
  readonly name: string;
  /** One that may be asked for explicitly; null: the server names none. */
  readonly version: string | null;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Integers that it accepts. */
  readonly integers: Integers;
  /** What open sizes other than the first are made of. */
  readonly length: number;
}

/** `/v2/models/NAME`, with the version if it is given. */
export function modelPath(name: string, version?: string | null): string {
  const model = `/v2/models/${encodeURIComponent(name)}`;
  return version === undefined || version === null
    ? model
    : `${model}/versions/${encodeURIComponent(version)}`;
}
