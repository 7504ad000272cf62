/** Measured INFERs of one batch size, and what a file says of their model. Times are ms, sizes bytes. */
export interface Measurement {
  readonly model: string;
  /** Empty: the file does not name it. */
  readonly gpu: string;
  /** Number format; empty: unknown. */
  readonly precision: string;
  readonly batch: number;
  readonly medianMs: number;
  readonly minMs?: number | undefined;
  readonly p90Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
  readonly maxMs?: number | undefined;
  readonly runs?: number | undefined;
  /** Requests that were under way at a time, if it was measured through a server. */
  readonly concurrency?: number | undefined;
  readonly weightsBytes?: number | undefined;
  readonly loadMs?: number | undefined;
  readonly inputBytes?: number | undefined;
  readonly outputBytes?: number | undefined;
  readonly runtime?: string | undefined;
  /** Where it is from: file and line. */
  readonly from: string;
}

/** Facts that a file may leave out, by options and by its name. */
export interface Stated {
  readonly model: string;
  readonly gpu: string;
  readonly precision: string;
  /** Undefined: unknown. */
  readonly batch: number | undefined;
}

/** Measurements of a file, and notes on how it was read. */
export interface ReadMeasurements {
  /** Name of the format. */
  readonly format: string;
  readonly measurements: readonly Measurement[];
  /** Sentences about what the figures are. */
  readonly notes: readonly string[];
}

/** Value at a percentile of ascending values (nearest rank). */
function percentileOf(ascending: readonly number[], percent: number): number {
  return ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)]!;
}

/** Quantiles of durations, in any order. */
export function quantilesOf(durationsMs: readonly number[]) {
  const ascending = [...durationsMs].sort((a, b) => a - b);
  return {
    runs: ascending.length,
    minMs: ascending[0]!,
    medianMs: percentileOf(ascending, 50),
    p90Ms: percentileOf(ascending, 90),
    p99Ms: percentileOf(ascending, 99),
    maxMs: ascending[ascending.length - 1]!,
  };
}
