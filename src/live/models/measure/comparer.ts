import type { OrtDeviceSpec } from '../../device.js';
import { type Datatype, type ModelSignature, numbersOf } from '../../model.js';
import type { Precision } from '../precision.js';

interface CompareSpec {
  readonly signature: ModelSignature;
  readonly precision: Precision;
  readonly device: OrtDeviceSpec;
}

/** Difference of an output; `share`: relative to the tolerance. */
interface Difference {
  readonly output: string;
  readonly difference: number;
  readonly share: number;
  /** Largest value of the output, as text. */
  readonly scale: string;
}

/** Compares outputs of a model with others that should be the same. */
export class Comparer {
  /** By output: largest finite absolute value of those to compare with. */
  scales: number[];
  /** Difference with the largest share so far; null: nothing was compared. */
  worst: Difference | null = null;

  constructor(private readonly spec: CompareSpec) {
    this.scales = spec.signature.outputs.map(() => 0);
  }

  /** Adds outputs to those to compare with: if all were zero, nothing would be tolerated. */
  expect(outputs: readonly Uint8Array[]): void {
    for (const [o, { datatype }] of this.spec.signature.outputs.entries())
      for (const value of numbersOf(datatype, outputs[o]))
        if (Number.isFinite(value)) this.scales[o] = Math.max(this.scales[o], Math.abs(value));
  }

  /** First output that differs beyond tolerance; null: none. */
  compare(expected: readonly Uint8Array[], found: readonly Uint8Array[]): Difference | null {
    const { signature, precision, device } = this.spec;
    for (const [o, { name, datatype }] of signature.outputs.entries()) {
      const difference = differenceOf(found[o], expected[o], datatype);
      const tolerance = toleranceOf(datatype, precision, device) * this.scales[o];
      const share = difference === 0 ? 0 : difference / tolerance;
      const one = { output: name, difference, share, scale: shortNumber(this.scales[o]) };
      if (this.worst === null || share > this.worst.share) this.worst = one;
      if (share > 1) return one;
    }
    return null;
  }
}

/**
 * Largest difference of two tensors' elements; infinite if they differ in size. NaN differs from NaN by zero, and from
 * anything else by infinity; likewise for infinities.
 */
function differenceOf(one: Uint8Array, other: Uint8Array, datatype: Datatype): number {
  if (Buffer.compare(one, other) === 0) return 0;
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  const [left, right] = [numbersOf(datatype, one), numbersOf(datatype, other)];
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
