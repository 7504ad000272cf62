import { Column } from '../base/grown.js';

/**
 * Sparse invocations per function and minute: a day of the full Azure trace is mostly zeros. Functions are ranks: 0 has
 * the largest total. Entries of minute m are those from `start[m]` to `start[m + 1]`, by ascending rank, each with a
 * positive count.
 */
export interface MinuteCounts {
  readonly functions: number;
  readonly minutes: number;
  /** Label of the first minute in the file (1 is the first of the day). */
  readonly firstMinute: number;
  /** `minutes + 1` offsets. */
  readonly start: Int32Array;
  readonly rank: Int32Array;
  readonly count: Int32Array;
  /** Invocations by rank, descending. */
  readonly totals: Float64Array;
  /** Trigger of each function, by rank, if in the trace. */
  readonly triggers?: readonly string[];
}

export const MAX_COUNT = 2 ** 31 - 1;

/** Collects counts by function, minutes ascending in each, and sorts them at the end. */
export class MinuteCountsBuilder {
  private readonly totals: number[] = [];
  private readonly triggers: string[] = [];
  /** First entry of each function. */
  private readonly begin: number[] = [];
  private readonly minute = new Column(Int32Array);
  private readonly count = new Column(Int32Array);

  beginFunction(trigger?: string): void {
    this.begin.push(this.minute.length);
    this.totals.push(0);
    if (trigger !== undefined) this.triggers.push(trigger);
  }

  /** Adds `count` invocations of the latest function in `minute` (from 0). */
  add(minute: number, count: number): void {
    this.minute.push(minute);
    this.count.push(count);
    this.totals[this.totals.length - 1] += count;
  }

  /** Sorts the functions; equal totals keep their order of arrival. */
  finish(minutes: number, firstMinute: number): MinuteCounts {
    const { totals, triggers } = this;
    const order = Array.from(totals.keys()).sort((a, b) => totals[b] - totals[a] || a - b);
    const start = this.offsets(minutes);
    const next = start.slice(0, minutes);
    const rank = new Int32Array(this.minute.length);
    const count = new Int32Array(this.minute.length);
    order.forEach((fn, fnRank) => {
      const end = fn + 1 < this.begin.length ? this.begin[fn + 1] : this.minute.length;
      for (let entry = this.begin[fn]; entry < end; entry++) {
        const to = next[this.minute.values[entry]]++;
        rank[to] = fnRank;
        count[to] = this.count.values[entry];
      }
    });
    return {
      functions: totals.length,
      minutes,
      firstMinute,
      start,
      rank,
      count,
      totals: Float64Array.from(order, (fn) => totals[fn]),
      ...(triggers.length > 0 ? { triggers: order.map((fn) => triggers[fn]) } : {}),
    };
  }

  private offsets(minutes: number): Int32Array {
    const start = new Int32Array(minutes + 1);
    for (let entry = 0; entry < this.minute.length; entry++) start[this.minute.values[entry] + 1]++;
    for (let minute = 0; minute < minutes; minute++) start[minute + 1] += start[minute];
    return start;
  }
}
