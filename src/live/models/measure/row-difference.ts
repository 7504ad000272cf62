import type { OrtDeviceSpec } from '../../device.js';
import { fromHalf } from '../../half.js';
import { type Datatype, TENSOR_ARRAYS } from '../../model.js';
import type { Precision } from '../precision.js';

/** Elements of a tensor as numbers; 64-bit integers are rounded, but see `sameBytes`. */
export function numbersOf(bytes: Uint8Array, datatype: Datatype): Float64Array {
  const values = new TENSOR_ARRAYS[datatype](bytes.slice().buffer);
  return Float64Array.from(values as ArrayLike<number>, datatype === 'FP16' ? fromHalf : Number);
}

/** Largest finite absolute value. */
export function largestOf(values: Float64Array): number {
  let largest = 0;
  for (const value of values) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/**
 * Largest difference of two tensors' elements. NaN differs from NaN by zero, and from anything else by infinity;
 * likewise for infinities.
 */
export function differenceOf(one: Uint8Array, other: Uint8Array, datatype: Datatype): number {
  if (Buffer.compare(one, other) === 0) return 0;
  const [left, right] = [numbersOf(one, datatype), numbersOf(other, datatype)];
  let largest = 0;
  for (let i = 0; i < left.length; i++) {
    if (Object.is(left[i], right[i])) continue;
    const apart = Math.abs(left[i] - right[i]);
    largest = Math.max(largest, Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart);
  }
  // Different integers beyond 2^53 may round to the same number.
  return largest === 0 && !datatype.startsWith('FP') ? 1 : largest;
}

/**
 * Tolerance of floating-point outputs of a batch against those of its rows alone, as a share of the output's largest
 * value. On GPUs FP32 may be computed in TF32, with a 10-bit fraction; FP16 has as many.
 */
export function toleranceOf(datatype: string, precision: Precision, { kind }: OrtDeviceSpec): number {
  if (!datatype.startsWith('FP')) return 0;
  if (datatype === 'FP16' || precision === 'fp16') return 1e-2;
  return kind === 'cpu' ? 1e-4 : 2e-3;
}

/** Number as short text for people. */
export function shortNumber(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : 'an infinite amount';
}
