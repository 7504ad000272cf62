import { NS_PER_MS } from '../base/units.js';
import type { TimeBins } from './bins.js';
import type { TunedSeries } from './results.js';

/** Current values of a component that tunes them, by name; durations are in ns and their names end in `Ns`. */
export interface Tuning {
  readonly tuned: Readonly<Record<string, number>>;
}

/** Follows tuned values over virtual time, in memory that does not depend on the length of the run. */
export class TunedTally {
  private readonly courses: readonly {
    readonly name: string;
    present: number;
    /** The value at the end of each bin, after that of the warm-up; NaN: unchanged there. */
    readonly values: Float64Array;
  }[];

  constructor(
    private readonly source: Tuning,
    private readonly bins: TimeBins,
  ) {
    this.courses = Object.entries(source.tuned).map(([name, present]) => {
      const values = new Float64Array(1 + bins.length).fill(Number.NaN);
      values[0] = present;
      return { name, present, values };
    });
  }

  /** True if there is nothing to follow. */
  get isEmpty(): boolean {
    return this.courses.length === 0;
  }

  /** Call whenever values may have changed. */
  sample(nowNs: number): void {
    const { tuned } = this.source;
    for (const course of this.courses) {
      const value = tuned[course.name];
      if (value === course.present) continue;
      course.present = value;
      course.values[nowNs < this.bins.fromNs ? 0 : 1 + this.bins.indexOf(nowNs)] = value;
    }
  }

  series(): TunedSeries[] {
    return this.courses.map(({ name, values: [held, ...later] }) => {
      const isDuration = name.endsWith('Ns');
      let last = held;
      const values = later.slice(0, this.bins.count).map((value) => {
        if (!Number.isNaN(value)) last = value;
        return isDuration ? last / NS_PER_MS : last;
      });
      return { name: isDuration ? name.slice(0, -2) : name, unit: isDuration ? 'ms' : '', values };
    });
  }
}
