import { grown } from '../base/grown.js';

const WINDOW = 10;
const PERCENTILE = 0.99;

/**
 * Rolling estimates of durations: for each row the interpolated 0.99 percentile of its last 10 measurements (Clockwork,
 * OSDI 2020, §5.3: recent measurements predict the next run), seeded from the profile. Integer ns, rounded down.
 */
export class Estimates {
  private samples: Float64Array;
  private count: Uint8Array;
  private oldest: Uint8Array;
  private value: Float64Array;
  /** Second largest measurement when the value was last found; at most the present one. */
  private second: Float64Array;

  constructor(rows: number) {
    this.samples = new Float64Array(rows * WINDOW);
    this.count = new Uint8Array(rows);
    this.oldest = new Uint8Array(rows);
    this.value = new Float64Array(rows);
    this.second = new Float64Array(rows);
  }

  get rows(): number {
    return this.value.length;
  }

  /** Appends rows. */
  grow(rows: number): void {
    const all = this.rows + rows;
    this.samples = grown(this.samples, all * WINDOW);
    this.count = grown(this.count, all);
    this.oldest = grown(this.oldest, all);
    this.value = grown(this.value, all);
    this.second = grown(this.second, all);
  }

  get(row: number): number {
    return this.value[row];
  }

  /** Shortest measurement in the window. */
  least(row: number): number {
    const base = row * WINDOW;
    let least = this.samples[base];
    for (let i = 1; i < this.count[row]; i++) least = Math.min(least, this.samples[base + i]);
    return least;
  }

  /** Adds a measurement, replacing the oldest in the window. */
  record(row: number, durationNs: number): void {
    const base = row * WINDOW;
    const count = this.count[row];
    const at = count < WINDOW ? count : this.oldest[row];
    if (count < WINDOW) this.count[row] = count + 1;
    else this.oldest[row] = at === WINDOW - 1 ? 0 : at + 1;
    const before = this.samples[base + at];
    this.samples[base + at] = durationNs;
    // In a full window, only the two largest count.
    const isSame =
      count < WINDOW
        ? durationNs === this.value[row]
        : durationNs === before || Math.max(durationNs, before) < this.second[row];
    if (!isSame) this.value[row] = this.percentile(row, this.count[row]);
  }

  /** Forgets all measurements: the estimate is `durationNs` again. */
  restart(row: number, durationNs: number): void {
    this.count[row] = 0;
    this.oldest[row] = 0;
    this.second[row] = 0;
    this.record(row, durationNs);
  }

  /** With at most 10 samples the 0.99 percentile lies between the two largest. */
  private percentile(row: number, count: number): number {
    const base = row * WINDOW;
    let largest = this.samples[base];
    if (count === 1) return Math.floor(largest);
    let second = 0;
    for (let i = 1; i < count; i++) {
      const sample = this.samples[base + i];
      if (sample > largest) {
        second = largest;
        largest = sample;
      } else if (sample > second) second = sample;
    }
    this.second[row] = second;
    const fraction = PERCENTILE * (count - 1) - (count - 2);
    return Math.floor(second + fraction * (largest - second));
  }
}
