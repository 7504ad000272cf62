const WINDOW = 10;
const PERCENTILE = Math.fround(0.99);
/** The published scheduler multiplies what it measures by the clock of the GPU, in MHz, before it takes the percentile. */
const CLOCK = 1380;

/**
 * The estimates of the published scheduler, to the last bit: it interpolates its percentile in single precision, so that of
 * equal measurements it can be a nanosecond less than each. The profile is forgotten at the first measurement.
 */
export class Estimates {
  private static count = 0;
  /** A cluster makes those of INFERs first, then those of LOADs, which no clock changes. */
  private readonly clock = Estimates.count++ % 2 === 0 ? CLOCK : 1;
  private readonly samples: number[][];
  private readonly value: number[];

  constructor(readonly rows: number) {
    this.samples = Array.from({ length: rows }, () => []);
    this.value = new Array<number>(rows).fill(0);
  }

  get(row: number): number {
    return this.value[row];
  }

  record(row: number, durationNs: number): void {
    const samples = this.samples[row];
    samples.push(durationNs * this.clock);
    if (samples.length > WINDOW) samples.shift();
    this.value[row] = Math.floor(percentile(samples) / this.clock);
  }

  restart(row: number, durationNs: number): void {
    this.samples[row] = [];
    this.value[row] = durationNs;
  }
}

function percentile(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const position = Math.fround(PERCENTILE * (sorted.length - 1));
  const above = Math.ceil(position);
  const below = Math.floor(position);
  if (above === below) return sorted[above];
  const upper = Math.fround(Math.fround(sorted[above]) * Math.fround(position - below));
  const lower = Math.fround(Math.fround(sorted[below]) * Math.fround(above - position));
  return Math.floor(Math.fround(upper + lower));
}
