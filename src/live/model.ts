import type { ModelSpec } from '../core/model.js';
import type { ModelList } from './model-list.js';

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
  /** Texts. Here and below, `bytes` of an empty one: of its length. */
  BYTES: { bytes: 4, ort: 'string' },
} as const;
export type Datatype = keyof typeof DATATYPES;

/** The typed array that holds the elements of each type; of FP16 their bits, of BYTES their bytes. */
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
  BYTES: Uint8Array,
} as const;

/** One input or output of a model, for one request. */
export interface TensorSignature {
  readonly name: string;
  readonly datatype: Datatype;
  /**
   * Without the batch dimension. `FREE` for a size that each request chooses: only where the model is not batched, or for
   * the length of its inputs.
   */
  readonly shape: readonly number[];
  /** Of one request: the product of `shape` times the size of an element; a free size, and a length, counts as 1. */
  readonly bytes: number;
}

/** In a shape: any size. */
export const FREE = -1;

/** A tensor's whole shape in one request or answer. */
export type Shape = readonly number[];

export interface ModelSignature {
  readonly inputs: readonly TensorSignature[];
  readonly outputs: readonly TensorSignature[];
  /** True: the model's first dimension is the batch. False: it takes one request a run. */
  readonly batched: boolean;
  /** Only of a model that is batched and takes inputs of several lengths. */
  readonly lengths?: InputLengths;
}

/** How the inputs of a model may differ in length: one dimension of a tensor, `FREE` in its shape. */
export interface InputLengths {
  /** Ascending: what inputs are padded to. Without `fill` they have one of these lengths. */
  readonly buckets: readonly number[];
  /** By input, what it is padded with; null: it has no length. Null for all: none is padded, and a batch has inputs of one length. */
  readonly fill: readonly (number | null)[] | null;
}

/** Whether requests choose sizes, of tensors or of texts: then shapes travel with their tensors, and each runs alone. */
export function hasFreeSizes({ inputs, outputs, lengths }: ModelSignature): boolean {
  const isFree = [...inputs, ...outputs].some(
    ({ datatype, shape }) => datatype === 'BYTES' || shape.includes(FREE),
  );
  return isFree && lengths === undefined;
}

/** Bytes of a tensor of that shape; of texts, the least there can be. */
export function bytesOfShape(datatype: Datatype, shape: Shape): number {
  return shape.reduce((product, size) => product * size, DATATYPES[datatype].bytes);
}

/** The same model where each free size, or length, is `size`. */
export function withSizes({ inputs, outputs, batched }: ModelSignature, size: number): ModelSignature {
  const close = (tensor: TensorSignature) => {
    const shape = tensor.shape.map((each) => (each === FREE ? size : each));
    return { ...tensor, shape, bytes: bytesOfShape(tensor.datatype, shape) };
  };
  return { inputs: inputs.map(close), outputs: outputs.map(close), batched };
}

/** Whether a tensor may have that shape in a request to a model that is not batched. */
export function fitsShape(shape: Shape, expected: Shape): boolean {
  return (
    shape.length === expected.length &&
    shape.every((size, i) => (expected[i] === FREE ? size >= 0 : size === expected[i]))
  );
}

/** The same model where its first dimension is not to be taken for a batch: requests choose its size. */
export function unbatched({ inputs, outputs, batched }: ModelSignature): ModelSignature {
  const open = (tensor: TensorSignature) => ({
    ...tensor,
    shape: batched ? [FREE, ...tensor.shape] : tensor.shape,
  });
  return { inputs: inputs.map(open), outputs: outputs.map(open), batched: false };
}

/** A model as live mode serves it. */
export interface ServedModel {
  /** What the scheduler knows of it. */
  readonly spec: ModelSpec;
  readonly signature: ModelSignature;
  readonly version: string;
  /** SLO of requests that carry none of their own, ns; null: the server's default. */
  readonly sloNs: number | null;
  /** Of its files and settings; absent: not known. */
  readonly digest?: string;
  /** By output: what its classes are called; null or absent: they have no names. */
  readonly labels?: readonly (readonly string[] | null)[] | null;
}

/** Where a worker finds a model that a controller asks for while it runs. */
export interface ModelSource {
  /** What there is; of one model with what its files are. Rejects where that cannot be said. */
  list(name: string | null): Promise<ModelList>;
  /** The version, ready to run. Rejects with what is wrong, for people: it is not there, or its files are others. */
  open(name: string, version: string, digest: string): Promise<WorkerModel>;
  /** Resolves when nothing of it is under way. */
  close(): Promise<void>;
}

/** A model as a worker runs it: with its weights, or as the memory of how long it takes. */
export interface WorkerModel extends ServedModel {
  /** Optimised model that is loaded in place (`.ort`); null: only a simulated device can run it. */
  readonly ortPath: string | null;
}
