import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import { BaseSource } from './source.js';

/** A trace whose rows are single requests at exact times, sorted, the first at 0. */
export interface ExactTimes {
  /** Integer ns. */
  readonly timesNs: Float64Array;
  /** Function of each row by rank: 0 has the most rows. All 0 if the trace has no functions. */
  readonly rank: Int32Array;
  readonly functions: number;
  /** Length of each row's input; absent: not in the trace, or not requested. */
  readonly lengths?: Int32Array;
}

/**
 * Sorts by time (rows of one instant keep their order), shifts the first to 0 and ranks the functions. Throws
 * `E_TRACE_VALUE` for a span too long for whole nanoseconds.
 */
export function sortTimes(
  file: string,
  unsortedNs: Float64Array,
  fn: Int32Array,
  functions: number,
  lengths?: Float64Array,
): ExactTimes {
  const order = Int32Array.from(unsortedNs.keys()).sort((a, b) => unsortedNs[a] - unsortedNs[b] || a - b);
  const firstNs = unsortedNs[order[0]];
  const timesNs = Float64Array.from(order, (row) => unsortedNs[row] - firstNs);
  if (!(timesNs[timesNs.length - 1] <= Number.MAX_SAFE_INTEGER)) {
    const what = 'more than 104 days lie between its first and its last row: is a time in the wrong unit?';
    throw new EscapementError('E_TRACE_VALUE', what, { file });
  }
  const rankOf = rankByRows(fn, functions);
  return {
    timesNs,
    rank: Int32Array.from(order, (row) => rankOf[fn[row]]),
    functions,
    ...(lengths && { lengths: Int32Array.from(order, (row) => lengths[row]) }),
  };
}

function rankByRows(fn: Int32Array, functions: number): Int32Array {
  const rows = new Int32Array(functions);
  for (const one of fn) rows[one]++;
  const order = Array.from(rows.keys()).sort((a, b) => rows[b] - rows[a] || a - b);
  const rankOf = new Int32Array(functions);
  order.forEach((one, rank) => {
    rankOf[one] = rank;
  });
  return rankOf;
}

/** Plays rows at their exact times, the first at 0. */
export class ExactSource extends BaseSource {
  readonly hasLengths: boolean;
  private row = -1;

  /** `modelOf`: model of each rank; absent if the trace has no functions. */
  constructor(
    private readonly trace: ExactTimes,
    sloNs: number,
    private readonly modelOf?: Int32Array,
  ) {
    super(sloNs, trace.functions);
    this.hasLengths = trace.lengths !== undefined;
    this.advance();
  }

  override advance(): void {
    const { timesNs, lengths, rank } = this.trace;
    if (++this.row >= timesNs.length) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = timesNs[this.row];
    if (lengths !== undefined) this.length = lengths[this.row];
    if (this.modelOf === undefined) return;
    this.user = rank[this.row];
    this.model = this.modelOf[this.user];
  }
}

/**
 * Length of a trace of single rows: up to its last row plus one mean gap, so that rows per length is the mean rate. One
 * second for a single row.
 */
export function exactLengthNs({ timesNs }: ExactTimes): number {
  const last = timesNs[timesNs.length - 1];
  return last > 0 ? Math.ceil(last + last / (timesNs.length - 1)) : NS_PER_S;
}
