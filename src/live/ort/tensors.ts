import type { Tensor } from 'onnxruntime-node';
import {
  DATATYPES,
  type Datatype,
  type ModelSignature,
  type Shape,
  TENSOR_ARRAYS,
  type TensorSignature,
} from '../model.js';
import { bytesOfTexts, textsOf } from '../texts.js';
import { onnxruntime } from './onnxruntime.js';

/** Tensors by the name of an input or output, in onnxruntime's form. */
type NamedTensors = Readonly<Record<string, Tensor>>;

/**
 * Memory of one input or output, for the largest batch size. The tensors of all batch sizes are views of it: it is
 * allocated once, and onnxruntime reads and writes it in place.
 */
export class TensorBuffer {
  readonly bytes: Uint8Array<ArrayBuffer>;

  constructor(
    readonly signature: TensorSignature,
    maxBatchSize: number,
  ) {
    this.bytes = new Uint8Array(signature.bytes * maxBatchSize);
  }

  /** `batched`: true if the batch is a dimension. `signature`: that of shorter inputs; default: its own. */
  tensor(batchSize: number, batched: boolean, signature = this.signature): Tensor {
    const { datatype, shape, bytes } = signature;
    const type = DATATYPES[datatype];
    const elements = (bytes / type.bytes) * batchSize;
    const dims = batched ? [batchSize, ...shape] : shape;
    const { Tensor } = onnxruntime();
    return new Tensor(type.ort, new TENSOR_ARRAYS[datatype](this.bytes.buffer, 0, elements), dims);
  }
}

/** Buffers of a model's inputs or outputs as the tensors of one run. `signatures`: as for `TensorBuffer.tensor`. */
export function namedTensors(
  buffers: readonly TensorBuffer[],
  batchSize: number,
  { batched }: ModelSignature,
  signatures?: readonly TensorSignature[],
): NamedTensors {
  return Object.fromEntries(
    buffers.map((buffer, i) => [buffer.signature.name, buffer.tensor(batchSize, batched, signatures?.[i])]),
  );
}

/** The tensors of one batch size. */
export interface Batch {
  readonly size: number;
  readonly feeds: NamedTensors;
  readonly fetches: NamedTensors;
}

/** A tensor over a copy of `bytes`. */
export function tensorOf(datatype: Datatype, shape: Shape, bytes: Uint8Array): Tensor {
  const { Tensor } = onnxruntime();
  if (datatype === 'BYTES') return new Tensor('string', textsOf(bytes), shape);
  const own = new Uint8Array(bytes);
  return new Tensor(DATATYPES[datatype].ort, new TENSOR_ARRAYS[datatype](own.buffer), shape);
}

/** Copy of a tensor's contents, since onnxruntime may reuse its memory. */
export function bytesOfTensor({ data }: Tensor): Uint8Array<ArrayBuffer> {
  if (Array.isArray(data)) return bytesOfTexts(data);
  const { buffer, byteOffset, byteLength } = data as Uint8Array<ArrayBuffer>;
  return new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength));
}
