import type { Random } from '../base/random/streams.js';
import { NS_PER_S } from '../base/units.js';
import type { AliasTable } from './alias-table.js';
import type { ExactTimes } from './exact-times.js';
import type { Frame } from './frame.js';
import { BaseSource } from './source.js';

interface ExactOptions {
  /** ⌊scale⌋ copies of every row, and one more with probability of the fraction. */
  readonly scale: number;
  /** Divides all times. */
  readonly speed: number;
  /** Model of each rank, or how arrivals are dealt to models where the trace knows no functions. */
  readonly modelOf?: Int32Array;
  readonly popularity?: AliasTable;
}

/**
 * Plays rows at their exact times. The first copy of a row comes at the row's own time, further ones
 * uniformly between there and the next row, so that copies do not coincide.
 */
export class ExactSource extends BaseSource {
  readonly hasLengths: boolean;
  private readonly trace: ExactTimes;
  private readonly options: ExactOptions;
  private readonly frame: Frame;
  private readonly lengthNs: number;
  private readonly wholeCopies: number;
  private readonly extraCopy: number;
  private readonly copies: Random;
  private readonly picks: Random;

  private row = -1;
  /** Copies of the current row still to come, spread over the time from `clockNs` to `nextRowNs`. */
  private copiesLeft = 0;
  private clockNs = 0;
  private nextRowNs = 0;

  constructor(trace: ExactTimes, options: ExactOptions, frame: Frame) {
    super(frame.sloNs, trace.functions);
    this.trace = trace;
    this.options = options;
    this.frame = frame;
    this.lengthNs = exactLengthNs(trace);
    this.hasLengths = trace.lengths !== undefined;
    this.wholeCopies = Math.floor(options.scale);
    this.extraCopy = options.scale - this.wholeCopies;
    this.copies = frame.random('copies');
    this.picks = frame.random('models');
    this.advance();
  }

  override advance(): void {
    if (this.copiesLeft > 0) {
      // Smallest of the uniform numbers that are left: they come out sorted one by one.
      const share = 1 - (1 - this.copies()) ** (1 / this.copiesLeft--);
      this.clockNs += (this.nextRowNs - this.clockNs) * share;
    } else if (!this.nextRow()) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    const timeNs = this.frame.startNs + Math.floor(this.clockNs / this.options.speed);
    if (timeNs >= this.frame.endNs) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = timeNs;
    if (this.trace.lengths !== undefined) this.length = this.trace.lengths[this.row];
    const { modelOf, popularity } = this.options;
    if (modelOf !== undefined) {
      this.user = this.trace.rank[this.row];
      this.model = modelOf[this.user];
    } else if (popularity !== undefined) {
      this.model = this.frame.models[popularity.pick(this.picks())];
    }
  }

  private nextRow(): boolean {
    const { timesNs } = this.trace;
    let copies = 0;
    while (copies === 0) {
      if (++this.row >= timesNs.length) return false;
      copies = this.wholeCopies;
      if (this.extraCopy > 0 && this.copies() < this.extraCopy) copies++;
    }
    this.clockNs = timesNs[this.row];
    this.nextRowNs = this.row + 1 < timesNs.length ? timesNs[this.row + 1] : this.lengthNs;
    this.copiesLeft = copies - 1;
    return true;
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
