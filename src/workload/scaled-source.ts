import type { Random } from '../base/random/streams.js';
import type { Frame } from './frame.js';
import { BaseSource, type StreamedSource } from './source.js';

/** Conversion of a trace's rows to requests. */
export interface Scaling {
  /** ⌊scale⌋ copies of every row, and one more with the probability of the fraction. */
  readonly scale: number;
  /** Divides all times. */
  readonly speed: number;
  /** End for copies of the last row, in ns of the trace; absent: they come at its own time. */
  readonly lengthNs?: number;
  /** Draws the model of each request; absent: that of its row. */
  readonly deal?: () => number;
}

/**
 * Plays the rows of a trace with more or fewer requests, and faster or slower. The first copy of a row comes at the
 * row's own time, further ones uniformly between there and the next row. So any span between rows has on average
 * `scale` times as many requests as rows: bursts and pauses keep their times and ratios. The times of `trace` begin at
 * 0, without start and end.
 */
export class ScaledSource extends BaseSource {
  readonly hasLengths: boolean;
  private readonly wholeCopies: number;
  private readonly extraCopy: number;
  private readonly copies: Random;
  /** Remaining copies of the current row, spread over the time from `clockNs` to the next row. */
  private copiesLeft = 0;
  private clockNs = 0;
  private rowModel = 0;

  constructor(
    private readonly trace: StreamedSource,
    private readonly scaling: Scaling,
    private readonly frame: Frame,
  ) {
    super(trace.sloNs, trace.users);
    this.hasLengths = trace.hasLengths === true;
    this.wholeCopies = Math.floor(scaling.scale);
    this.extraCopy = scaling.scale - this.wholeCopies;
    this.copies = frame.random('copies');
    this.advance();
  }

  override advance(): void {
    if (this.copiesLeft > 0 ? this.nextCopy() : this.nextRow()) this.show();
  }

  override async refill(): Promise<void> {
    await this.trace.refill();
    this.starved = false;
    this.advance();
  }

  /** Moves to the next copy; false if the trace must be read on to know when the next row comes. */
  private nextCopy(): boolean {
    const { trace, scaling } = this;
    this.starved = trace.starved;
    if (trace.starved) return false;
    const ended = trace.timeNs === Number.POSITIVE_INFINITY;
    const nextRowNs = ended ? (scaling.lengthNs ?? this.clockNs) : trace.timeNs;
    // Minimum of the remaining uniform numbers: they come out sorted one by one.
    const share = 1 - (1 - this.copies()) ** (1 / this.copiesLeft--);
    this.clockNs += (nextRowNs - this.clockNs) * share;
    return true;
  }

  /** Moves to the next row; false if the trace must be read on, or is over. */
  private nextRow(): boolean {
    const { trace } = this;
    for (;;) {
      this.starved = trace.starved;
      if (trace.starved) return false;
      if (trace.timeNs === Number.POSITIVE_INFINITY) {
        this.timeNs = trace.timeNs;
        return false;
      }
      const copies = this.wholeCopies + (this.extraCopy > 0 && this.copies() < this.extraCopy ? 1 : 0);
      this.clockNs = trace.timeNs;
      this.rowModel = trace.model;
      this.sloNs = trace.sloNs;
      this.length = trace.length;
      this.user = trace.user;
      trace.advance();
      if (copies === 0) continue;
      this.copiesLeft = copies - 1;
      return true;
    }
  }

  private show(): void {
    const { startNs, endNs } = this.frame;
    const timeNs = startNs + Math.floor(this.clockNs / this.scaling.speed);
    this.timeNs = timeNs < endNs ? timeNs : Number.POSITIVE_INFINITY;
    if (timeNs < endNs) this.model = this.scaling.deal?.() ?? this.rowModel;
  }
}
