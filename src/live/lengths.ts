import {
  FREE,
  type InputLengths,
  type ModelSignature,
  type Shape,
  type TensorSignature,
  withSizes,
} from './model.js';

/** True if the length is a dimension of the tensor, in a model with inputs of several lengths. */
function hasLength({ shape }: TensorSignature): boolean {
  return shape.includes(FREE);
}

/** Bytes of one request's tensor for inputs of that length. */
export function bytesAtLength(tensor: TensorSignature, length: number): number {
  return hasLength(tensor) ? tensor.bytes * length : tensor.bytes;
}

/** Longest input that a model takes. */
export function longestOf({ buckets }: InputLengths): number {
  return buckets[buckets.length - 1];
}

/** Returns a model with several lengths as one of its longest only; any other unchanged. */
export function atLongest(signature: ModelSignature): ModelSignature {
  const { lengths } = signature;
  return lengths === undefined ? signature : withSizes(signature, longestOf(lengths));
}

/** By name of each input with a length: value that shorter ones are padded with; empty: there is none. */
export function fillByInput({ inputs, lengths }: ModelSignature): Readonly<Record<string, number>> {
  const values = inputs.map(({ name }, i) => [name, lengths?.fill[i] ?? null] as const);
  return Object.fromEntries(values.filter((value): value is readonly [string, number] => value[1] !== null));
}

/** Length of a request's inputs that share runs with others of that length; 0: they run alone. `shapes`: with the first dimension. */
export function stackableLength({ inputs, stackable }: ModelSignature, shapes: readonly Shape[]): number {
  if (stackable !== true) return 0;
  let length = 0;
  for (let i = 0; i < inputs.length; i++) {
    const { shape } = inputs[i];
    if (shapes[i][0] !== 1) return 0;
    for (let d = 1; d < shape.length; d++) {
      if (shape[d] !== FREE) continue;
      if (length !== 0 && shapes[i][d] !== length) return 0;
      length = shapes[i][d];
    }
  }
  return length;
}

/**
 * Length of a request's inputs, which begin at `from` in `tensors`, by their sizes; 0: they are not those of one
 * request.
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
