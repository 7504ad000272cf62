/** Measured INFERs of one batch size, and what a file says of their model. Times are ms, sizes bytes. */
export interface Measurement {
  readonly model: string;
  /** Empty: the file does not name it. */
  readonly gpu: string;
  /** Number format; empty: unknown. */
  readonly precision: string;
  readonly batch: number;
  /** Length that inputs were padded to; undefined: the only one. */
  readonly length?: number | undefined;
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
