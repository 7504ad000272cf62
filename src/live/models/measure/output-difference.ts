import { fromHalf } from '../../half.js';
import { type Datatype, TENSOR_ARRAYS, type TensorSignature } from '../../model.js';

/** Difference of a model's outputs at lower precision from those at FP32, over many requests. */
export interface OutputDifference {
  readonly requests: number;
  /** Number of values in the outputs of all requests. */
  readonly values: number;
  /** Over values that are finite at both precisions. */
  readonly maxAbsolute: number;
  readonly meanAbsolute: number;
  /** Largest absolute value at FP32, as a reference for differences. */
  readonly largestOutput: number;
  /** Number of values that are finite at FP32 only: the lower precision overflowed. */
  readonly overflowed: number;
  /** Share of requests whose outputs have their maximum at the same position: classifiers give the same answer. */
  readonly sameLargest: number;
}

/** Compares outputs request by request. */
export class DifferenceCollector {
  private requests = 0;
  private values = 0;
  private compared = 0;
  private sum = 0;
  private max = 0;
  private largest = 0;
  private overflowed = 0;
  private same = 0;

  /** `signatures`: those of the model's outputs. */
  constructor(private readonly signatures: readonly TensorSignature[]) {}

  /** Each output has the bytes of `count` requests in sequence. */
  add(count: number, full: readonly Uint8Array[], lower: readonly Uint8Array[]): void {
    const pairs = this.signatures.map(({ datatype }, i) => ({
      full: numbers(full[i], datatype),
      lower: numbers(lower[i], datatype),
    }));
    for (let request = 0; request < count; request++) {
      const same = pairs.map((pair) => {
        const size = pair.full.length / count;
        const part = (values: Float64Array) => values.subarray(request * size, (request + 1) * size);
        return this.compare(part(pair.full), part(pair.lower));
      });
      this.requests++;
      if (same.every((each) => each)) this.same++;
    }
  }

  get difference(): OutputDifference {
    const { requests, values, compared, overflowed } = this;
    return {
      requests,
      values,
      maxAbsolute: this.max,
      meanAbsolute: compared === 0 ? 0 : this.sum / compared,
      largestOutput: this.largest,
      overflowed,
      sameLargest: requests === 0 ? 1 : this.same / requests,
    };
  }

  /** Compares one output of one request; true if both have their largest value at the same position. */
  private compare(full: Float64Array, lower: Float64Array): boolean {
    this.values += full.length;
    for (let i = 0; i < full.length; i++) {
      if (!Number.isFinite(full[i])) continue;
      this.largest = Math.max(this.largest, Math.abs(full[i]));
      if (!Number.isFinite(lower[i])) {
        this.overflowed++;
        continue;
      }
      const apart = Math.abs(full[i] - lower[i]);
      this.compared++;
      this.sum += apart;
      this.max = Math.max(this.max, apart);
    }
    return indexOfLargest(full) === indexOfLargest(lower);
  }
}

function numbers(bytes: Uint8Array, datatype: Datatype): Float64Array {
  const { BYTES_PER_ELEMENT } = TENSOR_ARRAYS[datatype];
  const count = bytes.length / BYTES_PER_ELEMENT;
  const values = new TENSOR_ARRAYS[datatype](bytes.slice().buffer, 0, count);
  return Float64Array.from(values as ArrayLike<number>, datatype === 'FP16' ? fromHalf : Number);
}

/** Ties go to the first. */
function indexOfLargest(values: Float64Array): number {
  let largest = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[largest]) largest = i;
  return largest;
}
