import { NS_PER_MS } from '../base/units.js';
import type { TimeBins } from './bins.js';
import type { TunedSeries } from './results.js';

/** Current values of a component that tunes them, by name; durations are in ns and their names end in `Ns`. */
export interface Tuning {
  readonly tuned: Readonly<Record<string, number>>;
}

/** Follows tuned values over virtual time, in memory that does not depend on the length of the run. */
export class TunedTally {
  private readonly courses: readonly Course[];

  constructor(
    private readonly source: Tuning,
    private readonly bins: TimeBins,
  ) {
    this.courses = Object.entries(source.tuned).map(([name, value]) => new Course(name, value, bins));
  }

  /** True if there is nothing to follow. */
  get isEmpty(): boolean {
    return this.courses.length === 0;
  }

  /** Call whenever values may have changed. */
  sample(nowNs: number): void {
    const { tuned } = this.source;
    const bin = nowNs < this.bins.fromNs ? -1 : this.bins.indexOf(nowNs);
    for (const course of this.courses) course.sample(tuned[course.name], bin);
  }

  series(): TunedSeries[] {
    return this.courses.map((course) => course.series());
  }
}

/** Course of one value: its last value and its range in each bin. */
class Course {
  /** Value at the start of the first bin. */
  private initial: number;
  /** By bin; NaN: unchanged there. */
  private readonly last: Float64Array;
  private readonly low: Float64Array;
  private readonly high: Float64Array;

  constructor(
    readonly name: string,
    private present: number,
    private readonly bins: TimeBins,
  ) {
    this.initial = present;
    this.last = bins.counter().fill(Number.NaN);
    this.low = bins.counter();
    this.high = bins.counter();
  }

  sample(value: number, bin: number): void {
    const { last, low, high, present } = this;
    if (value === present) return;
    this.present = value;
    if (bin < 0) {
      this.initial = value;
      return;
    }
    // The value at the start of a bin counts, too.
    if (Number.isNaN(last[bin])) low[bin] = high[bin] = present;
    last[bin] = value;
    if (value < low[bin]) low[bin] = value;
    if (value > high[bin]) high[bin] = value;
  }

  series(): TunedSeries {
    const { name, last, bins } = this;
    const isDuration = name.endsWith('Ns');
    const scaled = (value: number) => (isDuration ? value / NS_PER_MS : value);
    const series = { values: [] as number[], low: [] as number[], high: [] as number[] };
    let held = this.initial;
    for (let bin = 0; bin < bins.count; bin++) {
      const isChanged = !Number.isNaN(last[bin]);
      series.low.push(scaled(isChanged ? this.low[bin] : held));
      series.high.push(scaled(isChanged ? this.high[bin] : held));
      if (isChanged) held = last[bin];
      series.values.push(scaled(held));
    }
    return { name: isDuration ? name.slice(0, -2) : name, unit: isDuration ? 'ms' : '', ...series };
  }
}
