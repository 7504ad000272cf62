import { FREE, type InputLengths, type ModelSignature, type TensorSignature, withSizes } from './model.js';

/** Whether the length is one of the tensor's dimensions, in a model whose inputs have several. */
function hasLength({ shape }: TensorSignature): boolean {
  return shape.includes(FREE);
}

/** Bytes of one request's tensor when its inputs have that length. */
export function bytesAtLength(tensor: TensorSignature, length: number): number {
  return hasLength(tensor) ? tensor.bytes * length : tensor.bytes;
}

/** The longest inputs that a model takes. */
export function longestOf({ buckets }: InputLengths): number {
  return buckets[buckets.length - 1];
}

/** A model with several lengths as one of its longest only; any other as it is. */
export function atLongest(signature: ModelSignature): ModelSignature {
  const { lengths } = signature;
  return lengths === undefined ? signature : withSizes(signature, longestOf(lengths));
}

/** By the name of each input with a length, what shorter ones are padded with; empty: none is. */
export function fillByInput({ inputs, lengths }: ModelSignature): Readonly<Record<string, number>> {
  const values = inputs.map(({ name }, i) => [name, lengths?.fill?.[i] ?? null] as const);
  return Object.fromEntries(values.filter((value): value is readonly [string, number] => value[1] !== null));
}

/** Index of the bucket that an input of this length is padded to at least, or, unpadded, has exactly; −1: there is none. */
export function bucketAt({ buckets, fill }: InputLengths, length: number): number {
  const bucket = buckets.findIndex((each) => each >= length);
  return length < 1 || (fill === null && buckets[bucket] !== length) ? -1 : bucket;
}

/**
 * The length of a request's inputs, which begin at `from` among `tensors`, by their sizes; 0: they are not those of one request.
 */
export function lengthOfInputs(
  { inputs }: ModelSignature,
  tensors: readonly { readonly byteLength: number }[],
  from: number,
): number {
  let length = 0;
  for (let i = 0; i < inputs.length; i++) {
    const { byteLength } = tensors[from + i];
    if (hasLength(inputs[i])) {
      const own = byteLength / inputs[i].bytes;
      if (!Number.isSafeInteger(own) || (length !== 0 && own !== length)) return 0;
      length = own;
    } else if (byteLength !== inputs[i].bytes) return 0;
  }
  return length;
}
