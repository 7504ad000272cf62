import type { ModelSpec } from '../core/model.js';

/** Element types of tensors, by the names that the Open Inference Protocol gives them. */
export const DATATYPES = {
  BOOL: { bytes: 1, ort: 'bool' },
  UINT8: { bytes: 1, ort: 'uint8' },
  UINT16: { bytes: 2, ort: 'uint16' },
  UINT32: { bytes: 4, ort: 'uint32' },
  UINT64: { bytes: 8, ort: 'uint64' },
  INT8: { bytes: 1, ort: 'int8' },
  INT16: { bytes: 2, ort: 'int16' },
  INT32: { bytes: 4, ort: 'int32' },
  INT64: { bytes: 8, ort: 'int64' },
  FP16: { bytes: 2, ort: 'float16' },
  FP32: { bytes: 4, ort: 'float32' },
  FP64: { bytes: 8, ort: 'float64' },
} as const;
export type Datatype = keyof typeof DATATYPES;

/** The typed array that holds the elements of each type; of FP16 their bits. */
export const TENSOR_ARRAYS = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

/** One input or output of a model, for one request. */
export interface TensorSignature {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension. */
  readonly shape: readonly number[];
  /** Of one request: the product of `shape` times the size of an element. */
  readonly bytes: number;
}

export interface ModelSignature {
  readonly inputs: readonly TensorSignature[];
  readonly outputs: readonly TensorSignature[];
  /** True: the model's first dimension is the batch. False: it takes one request a run. */
  readonly batched: boolean;
}

/** A model as live mode serves it. */
export interface ServedModel {
  /** What the scheduler knows of it. */
  readonly spec: ModelSpec;
  readonly signature: ModelSignature;
  readonly version: string;
  /** Objective of requests that carry none of their own, ns; null: the server's default. */
  readonly sloNs: number | null;
}

/** A model as a worker runs it: with its weights, or as the memory of how long it takes. */
export interface WorkerModel extends ServedModel {
  /** Optimised model that is loaded in place (`.ort`); null: only a simulated device can run it. */
  readonly ortPath: string | null;
}
