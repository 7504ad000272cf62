/**
 * Invocations per function and minute, kept sparse: a day of the full Azure trace is mostly zeros.
 * Functions are ranks: 0 has the largest total. Entries of minute m are those from `start[m]` to
 * `start[m + 1]`, by ascending rank, each with a positive count.
 */
export interface MinuteCounts {
  readonly functions: number;
  readonly minutes: number;
  /** What the file calls its first minute (1 is the first of the day). */
  readonly firstMinute: number;
  /** `minutes + 1` offsets. */
  readonly start: Int32Array;
  readonly rank: Int32Array;
  readonly count: Int32Array;
  /** Invocations by rank, not increasing. */
  readonly totals: Float64Array;
  /** What triggers each function, by rank, where the trace says so. */
  readonly triggers?: readonly string[];
}

export const MAX_COUNT = 2 ** 31 - 1;

/** Collects counts function after function, minutes ascending in each, and sorts them at the end. */
export class MinuteCountsBuilder {
  private readonly totals: number[] = [];
  private readonly triggers: string[] = [];
  /** First entry of each function. */
  private readonly begin: number[] = [];
  private minute = new Uint16Array(1 << 12);
  private count = new Int32Array(1 << 12);
  private entries = 0;

  beginFunction(trigger?: string): void {
    this.begin.push(this.entries);
    this.totals.push(0);
    if (trigger !== undefined) this.triggers.push(trigger);
  }

  /** `count` invocations of the latest function in `minute` (from 0). */
  add(minute: number, count: number): void {
    if (this.entries === this.minute.length) this.grow();
    this.minute[this.entries] = minute;
    this.count[this.entries++] = count;
    this.totals[this.totals.length - 1] += count;
  }

  /** Functions with equal totals keep the order in which they came. */
  finish(minutes: number, firstMinute: number): MinuteCounts {
    const { totals, triggers } = this;
    const order = Array.from(totals.keys()).sort((a, b) => totals[b] - totals[a] || a - b);
    const start = this.offsets(minutes);
    const next = start.slice(0, minutes);
    const rank = new Int32Array(this.entries);
    const count = new Int32Array(this.entries);
    order.forEach((fn, fnRank) => {
      const end = fn + 1 < this.begin.length ? this.begin[fn + 1] : this.entries;
      for (let entry = this.begin[fn]; entry < end; entry++) {
        const to = next[this.minute[entry]]++;
        rank[to] = fnRank;
        count[to] = this.count[entry];
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
    for (let entry = 0; entry < this.entries; entry++) start[this.minute[entry] + 1]++;
    for (let minute = 0; minute < minutes; minute++) start[minute + 1] += start[minute];
    return start;
  }

  private grow(): void {
    const minute = new Uint16Array(this.minute.length * 2);
    minute.set(this.minute);
    this.minute = minute;
    const count = new Int32Array(this.count.length * 2);
    count.set(this.count);
    this.count = count;
  }
}
