import { NS_PER_S } from '../base/units.js';
import type { ExactTimes } from './exact-times.js';
import { BaseSource } from './source.js';

/** Plays rows at their exact times, the first at 0. */
export class ExactSource extends BaseSource {
  readonly hasLengths: boolean;
  private row = -1;

  /** `modelOf`: the model of each rank; absent where the trace knows no functions. */
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
 * How long a trace of single rows lasts: to its last row and one mean gap more, so that rows per
 * length is the mean rate. One second for a single row.
 */
export function exactLengthNs({ timesNs }: ExactTimes): number {
  const last = timesNs[timesNs.length - 1];
  return last > 0 ? Math.ceil(last + last / (timesNs.length - 1)) : NS_PER_S;
}
