import { invariant } from '../../base/invariant.js';
import { toHalf } from '../half.js';
import { lengthOfInputs, longestOf } from '../lengths.js';
import {
  DATATYPES,
  type Datatype,
  FREE,
  type InputLengths,
  type ModelSignature,
  TENSOR_ARRAYS,
  type TensorSignature,
  withSizes,
} from '../model.js';
import { type Batch, namedTensors, TensorBuffer } from './tensors.js';

/** Requests padded to one length. */
interface PaddedRun {
  readonly batch: Batch;
  /** Padded length. */
  readonly length: number;
  /** Length of each request. */
  readonly lengths: readonly number[];
}

/** Batches of a model with padded inputs: memory for the largest of the longest, used for all. */
export class PaddedBatches {
  /** Batches of each size at the first length, then those at the next. */
  readonly batches: readonly Batch[];
  private readonly lengths: InputLengths;
  private readonly inputs: readonly TensorBuffer[];
  private readonly outputs: readonly TensorBuffer[];

  constructor(
    private readonly signature: ModelSignature,
    private readonly batchSizes: readonly number[],
  ) {
    invariant(signature.lengths !== undefined, 'a model with lengths is padded');
    this.lengths = signature.lengths;
    const longest = withSizes(signature, longestOf(this.lengths));
    const most = batchSizes[batchSizes.length - 1];
    this.inputs = longest.inputs.map((input) => new TensorBuffer(input, most));
    this.outputs = longest.outputs.map((output) => new TensorBuffer(output, most));
    this.batches = this.lengths.buckets.flatMap((length) => {
      const at = withSizes(signature, length);
      return batchSizes.map((size) => ({
        size,
        feeds: namedTensors(this.inputs, size, signature, at.inputs),
        fetches: namedTensors(this.outputs, size, signature, at.outputs),
      }));
    });
  }

  /** Copies the inputs of each request in, padded to the bucket or beyond. */
  gather(batchIndex: number, bucket: number, inputs: readonly Uint8Array[]): PaddedRun {
    const { signature, lengths, batchSizes } = this;
    const each = signature.inputs.length;
    const own: number[] = [];
    for (let at = 0; at < inputs.length; at += each) own.push(lengthOfInputs(signature, inputs, at));
    const length = lengths.buckets[bucket];
    const batch = this.batches[bucket * batchSizes.length + batchIndex];
    invariant(batch !== undefined, 'a batch has one of the lengths');
    const isRight = (one: number) => one > 0 && one <= length;
    invariant(own.length <= batch.size && own.every(isRight), 'inputs fit into their batch');
    for (const [i, input] of signature.inputs.entries()) {
      const { bytes } = this.inputs[i];
      const layout = layoutOf(input, length);
      fillWith(bytes, batch.size * layout.bytes, input.datatype, lengths.fill[i] ?? 0);
      for (let r = 0; r < own.length; r++)
        copyPart(inputs[r * each + i], layoutOf(input, own[r]), bytes, layout, r * layout.bytes);
    }
    return { batch, length, lengths: own };
  }

  /** Outputs of each request, cut back to its length, all of one and then those of the next. */
  cut({ length, lengths }: PaddedRun): Uint8Array<ArrayBuffer>[] {
    const { outputs } = this.signature;
    return lengths.flatMap((own, r) =>
      outputs.map((output, o) => {
        const padded = layoutOf(output, length);
        const target = layoutOf(output, own);
        const cut = new Uint8Array(target.bytes);
        copyPart(this.outputs[o].bytes.subarray(r * padded.bytes), padded, cut, target, 0);
        return cut;
      }),
    );
  }
}

/**
 * One request's tensor of length `from` at length `to`: cut off, or padded with `value`; unchanged without a length.
 */
export function atOtherLength(
  tensor: TensorSignature,
  bytes: Uint8Array,
  { from, to, value }: { readonly from: number; readonly to: number; readonly value: number },
): Uint8Array<ArrayBuffer> {
  const target = layoutOf(tensor, to);
  const resized = new Uint8Array(target.bytes);
  fillWith(resized, target.bytes, tensor.datatype, value);
  copyPart(bytes, layoutOf(tensor, from), resized, target, 0);
  return resized;
}

/** Memory layout of a tensor of one request: `outer` runs of `length` steps. */
interface Layout {
  readonly outer: number;
  readonly length: number;
  readonly stepBytes: number;
  readonly bytes: number;
}

/** A tensor without a length is a single run of one step. */
function layoutOf(tensor: TensorSignature, length: number): Layout {
  const { datatype, shape, bytes } = tensor;
  const dimension = shape.indexOf(FREE);
  if (dimension < 0) return { outer: 1, length: 1, stepBytes: bytes, bytes };
  const product = (sizes: readonly number[]) => sizes.reduce((all, size) => all * size, 1);
  const stepBytes = product(shape.slice(dimension + 1)) * DATATYPES[datatype].bytes;
  return { outer: product(shape.slice(0, dimension)), length, stepBytes, bytes: bytes * length };
}

/** Copies one request's tensor, at the start of `from`, to `at` in `to`: as much as fits both. */
function copyPart(from: Uint8Array, source: Layout, to: Uint8Array, target: Layout, at: number): void {
  const { outer, stepBytes } = target;
  const fromBytes = source.length * stepBytes;
  const toBytes = target.length * stepBytes;
  const copied = Math.min(fromBytes, toBytes);
  for (let run = 0; run < outer; run++)
    to.set(from.subarray(run * fromBytes, run * fromBytes + copied), at + run * toBytes);
}

function fillWith(memory: Uint8Array<ArrayBuffer>, bytes: number, datatype: Datatype, value: number): void {
  const elements = new TENSOR_ARRAYS[datatype](memory.buffer, 0, bytes / DATATYPES[datatype].bytes);
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) elements.fill(BigInt(value));
  else elements.fill(datatype === 'FP16' ? toHalf(value) : value);
}
