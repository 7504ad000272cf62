import type { ModelSpec } from '../core/model.js';
import { fromHalf, toHalf } from './half.js';

/** Element types of tensors, by their names in the Open Inference Protocol. */
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
  /** Texts. Here and below, `bytes` of an empty one: those of its length. */
  BYTES: { bytes: 4, ort: 'string' },
} as const;
export type Datatype = keyof typeof DATATYPES;

/** Typed array for the elements of each type; for FP16 their bits, for BYTES their bytes. */
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

/** Typed arrays that show the elements of a tensor; FP16 as its bits. */
type Views = { readonly [T in Datatype]: InstanceType<(typeof TENSOR_ARRAYS)[T]> };

/** The elements of a tensor: a view of `bytes`, or of a copy where they lie across the machine's words. */
export function viewOf<T extends Datatype>(datatype: T, bytes: Uint8Array): Views[T] {
  const { bytes: size } = DATATYPES[datatype];
  // Not `slice`, which a Buffer answers with a view.
  const whole = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  const { buffer, byteOffset, length } = whole as Uint8Array<ArrayBuffer>;
  return new TENSOR_ARRAYS[datatype](buffer, byteOffset, length / size) as unknown as Views[T];
}

/** The elements of a tensor of numbers or booleans; 64-bit integers are rounded. */
export function numbersOf(datatype: Datatype, bytes: Uint8Array): Float64Array {
  const view = viewOf(datatype, bytes);
  if (datatype === 'FP16') return Float64Array.from(view as Uint16Array, fromHalf);
  if (datatype.endsWith('INT64')) return Float64Array.from(view as BigInt64Array, Number);
  return view as Float64Array;
}

/** Tensor of `bytes`, with elements from `valueAt`. */
export function tensorOf(
  datatype: Datatype,
  bytes: number,
  valueAt: (index: number) => number,
): Uint8Array<ArrayBuffer> {
  const memory = new Uint8Array(bytes);
  const values = new TENSOR_ARRAYS[datatype](memory.buffer);
  for (let at = 0; at < values.length; at++) {
    const value = valueAt(at);
    if (datatype === 'FP16') values[at] = toHalf(value);
    else if (datatype.endsWith('INT64')) values[at] = BigInt(value);
    else values[at] = value;
  }
  return memory;
}

/** An input or output of a model, for one request. */
export interface TensorSignature {
  readonly name: string;
  readonly datatype: Datatype;
  /**
   * Without the batch dimension. `FREE` for a size that each request chooses: only if the model is not batched, or for
   * the length of its inputs.
   */
  readonly shape: readonly number[];
  /** Size for one request: product of `shape` times the size of an element; a free size, and a length, counts as 1. */
  readonly bytes: number;
}

/** Any size, in a shape. */
export const FREE = -1;

/** Full shape of a tensor in one request or answer. */
export type Shape = readonly number[];

export interface ModelSignature {
  readonly inputs: readonly TensorSignature[];
  readonly outputs: readonly TensorSignature[];
  /** True if the model's first dimension is the batch; false if it takes one request per run. */
  readonly batched: boolean;
  /** Only for a batched model whose inputs are padded to several lengths. */
  readonly lengths?: InputLengths;
  /**
   * True for a model with free sizes that is not `batched` whose first dimension may be a batch: requests of one row
   * whose other free sizes all equal the same length share runs.
   */
  readonly stackable?: boolean;
  /** Declared limit on rows of a request: the first dimension counts them, even if requests run one at a time. */
  readonly maxBatch?: number;
}

/** Lengths of a model's inputs: one dimension of a tensor, `FREE` in its shape. */
export interface InputLengths {
  /** Padded lengths, ascending. */
  readonly buckets: readonly number[];
  /** Fill by input; null: it has no length. */
  readonly fill: readonly (number | null)[];
}

/** True if requests choose sizes, of tensors or of texts: then shapes travel along, and requests of other shapes run apart. */
export function hasFreeSizes({ inputs, outputs, lengths }: ModelSignature): boolean {
  const isFree = [...inputs, ...outputs].some(
    ({ datatype, shape }) => datatype === 'BYTES' || shape.includes(FREE),
  );
  return isFree && lengths === undefined;
}

/** Bytes of a tensor of that shape; for texts, the minimum. */
export function bytesOfShape(datatype: Datatype, shape: Shape): number {
  return shape.reduce((product, size) => product * size, DATATYPES[datatype].bytes);
}

/** Returns the model with `size` for each free size or length. */
export function withSizes({ inputs, outputs, batched }: ModelSignature, size: number): ModelSignature {
  const close = (tensor: TensorSignature) => {
    const shape = tensor.shape.map((each) => (each === FREE ? size : each));
    return { ...tensor, shape, bytes: bytesOfShape(tensor.datatype, shape) };
  };
  return { inputs: inputs.map(close), outputs: outputs.map(close), batched };
}

/** True if a tensor may have that shape in a request to a model that is not batched. */
export function fitsShape(shape: Shape, expected: Shape): boolean {
  return (
    shape.length === expected.length &&
    shape.every((size, i) => (expected[i] === FREE ? size >= 0 : size === expected[i]))
  );
}

/** Returns the model with a first dimension that is not a batch: requests choose its size. */
export function unbatched({ inputs, outputs, batched, maxBatch }: ModelSignature): ModelSignature {
  const open = (tensor: TensorSignature) => ({
    ...tensor,
    shape: batched ? [FREE, ...tensor.shape] : tensor.shape,
  });
  const declared = maxBatch === undefined ? {} : { maxBatch };
  return { inputs: inputs.map(open), outputs: outputs.map(open), batched: false, ...declared };
}

/** Returns the model with outputs of any size, because they follow from the values of inputs. */
export function withFreeOutputs(signature: ModelSignature): ModelSignature {
  const outputs = signature.outputs.map((tensor) => ({
    ...tensor,
    shape: tensor.shape.map(() => FREE),
    bytes: DATATYPES[tensor.datatype].bytes,
  }));
  return { ...signature, outputs };
}

/** A model as served in live mode. */
export interface ServedModel {
  /** Properties for the scheduler. */
  readonly spec: ModelSpec;
  readonly signature: ModelSignature;
  readonly version: string;
  /** Default SLO of its requests, ns; null: the server's default. */
  readonly sloNs: number | null;
  /** Digest of its files and settings; absent: unknown. */
  readonly digest?: string;
  /** Settings that a client gave in place of its `config.pbtxt`, as JSON. */
  readonly config?: string | undefined;
  /** True if it was measured only briefly, so that its times have a margin. */
  readonly isProvisional?: boolean;
  /** True for a pipeline of models. */
  readonly isPipeline?: boolean;
  /** By output: names of its classes; null or absent: none. */
  readonly labels?: readonly (readonly string[] | null)[] | null;
}

/** A model as run by a worker: with its weights, or only with its times. */
export interface WorkerModel extends ServedModel {
  /** Optimized model that is loaded in place (`.ort`); null: only a simulated device can run it. */
  readonly ortPath: string | null;
}

/** True if requests for one model may go to the other. */
export function takesTheSame(a: ServedModel, b: ServedModel): boolean {
  return shapes(a) === shapes(b);
}

function shapes({ signature: { inputs, outputs, batched, lengths } }: ServedModel): string {
  const plain = ({ name, datatype, shape }: TensorSignature) => [name, datatype, shape];
  return JSON.stringify([inputs.map(plain), outputs.map(plain), batched, lengths]);
}
