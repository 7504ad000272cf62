import { EscapementError } from '../base/errors.js';
import { exponential } from '../base/random/distributions.js';
import type { Random } from '../base/random/streams.js';
import { NS_PER_S } from '../base/units.js';
import { AliasTable } from './alias-table.js';
import { assignModels } from './assign.js';
import type { Frame } from './frame.js';
import type { MinuteCounts } from './minute-counts.js';
import { BaseSource } from './source.js';
import type { Assignment, SpecOf } from './spec.js';

/** Limit on density: closer arrivals would exceed a clock of whole nanoseconds, and any memory. */
const LEAST_MEAN_GAP_NS = 100;

export interface MinuteOptions {
  /** Half-open slice of minutes, from 0. */
  readonly minutes: readonly [number, number];
  readonly intervalNs: number;
  readonly scale: number;
  readonly assign: Assignment;
}

/**
 * Plays counts per minute: within a minute every function is a Poisson process with that minute's count × scale as its
 * mean. All are played as one process of the summed rate whose arrivals are assigned to functions in proportion, which
 * has the same law and the same cost for any number of functions. `user` is the function's rank.
 */
export class MinuteSource extends BaseSource {
  private readonly modelOf: Int32Array;
  private readonly gaps: Random;
  private readonly picks: Random;
  private readonly table: AliasTable;

  private clockNs: number;
  private minute: number;
  /** Index of the minute's first entry in the counts. */
  private firstEntry = 0;
  private minuteEndNs: number;
  private meanGapNs = 0;

  constructor(
    private readonly counts: MinuteCounts,
    private readonly options: MinuteOptions,
    private readonly frame: Frame,
  ) {
    super(frame.sloNs, counts.functions);
    this.modelOf = assignModels(counts.functions, frame.models, options.assign);
    this.gaps = frame.random('arrivals');
    this.picks = frame.random('functions');
    this.table = new AliasTable(busiestMinute(counts));
    this.clockNs = frame.startNs;
    this.minute = options.minutes[0] - 1;
    this.minuteEndNs = frame.startNs;
    this.nextMinute();
    this.advance();
  }

  override advance(): void {
    this.clockNs += exponential(this.gaps) * this.meanGapNs;
    // Memoryless: a gap that crosses the end of a minute is drawn again at the next rate.
    while (this.clockNs >= this.minuteEndNs) {
      if (!this.nextMinute()) return;
      this.clockNs += exponential(this.gaps) * this.meanGapNs;
    }
    if (this.clockNs >= this.frame.endNs) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = Math.floor(this.clockNs);
    this.user = this.counts.rank[this.firstEntry + this.table.pick(this.picks())];
    this.model = this.modelOf[this.user];
  }

  /** Moves to the start of the next minute with invocations; false if there is none and the stream ends. */
  private nextMinute(): boolean {
    const { start, count } = this.counts;
    const { minutes, intervalNs, scale } = this.options;
    do {
      this.minute++;
      if (this.minute >= minutes[1]) {
        this.clockNs = Number.POSITIVE_INFINITY;
        this.timeNs = Number.POSITIVE_INFINITY;
        return false;
      }
    } while (start[this.minute] === start[this.minute + 1]);
    this.firstEntry = start[this.minute];
    const entries = start[this.minute + 1] - this.firstEntry;
    let total = 0;
    for (let i = 0; i < entries; i++) total += count[this.firstEntry + i];
    this.table.build(count, this.firstEntry, entries);
    this.clockNs = this.frame.startNs + (this.minute - minutes[0]) * intervalNs;
    this.minuteEndNs = this.clockNs + intervalNs;
    this.meanGapNs = intervalNs / (total * scale);
    if (this.meanGapNs < LEAST_MEAN_GAP_NS) {
      throw new EscapementError(
        'E_CONFIG_VALUE',
        `minute ${this.minute} of the trace would bring ${Math.round(NS_PER_S / this.meanGapNs)} requests/s, ` +
          `more than ${NS_PER_S / LEAST_MEAN_GAP_NS}: use a smaller scale or a longer interval`,
        this.frame.placeOf('scale'),
      );
    }
    return true;
  }
}

function busiestMinute({ start, minutes }: MinuteCounts): number {
  let most = 0;
  for (let minute = 0; minute < minutes; minute++) most = Math.max(most, start[minute + 1] - start[minute]);
  return most;
}

/** Half-open slice of minutes to play, all by default. Throws `E_CONFIG_VALUE` outside the trace. */
export function minuteSlice(
  spec: SpecOf<'azure-2019'>,
  counts: MinuteCounts,
  frame: Frame,
): readonly [number, number] {
  const minutes = spec.minutes ?? [0, counts.minutes];
  if (minutes[0] < minutes[1] && minutes[1] <= counts.minutes) return minutes;
  const what = `${minutes[0]}:${minutes[1]} is not within the trace's minutes 0:${counts.minutes}`;
  throw new EscapementError('E_CONFIG_VALUE', what, frame.placeOf('minutes'));
}
