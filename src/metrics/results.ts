/** The headline figures of one run. Printed by `simulate --json`; durations in ms where the name says so. */
export interface Summary {
  readonly name: string;
  readonly seed: number | string;
  /** Running hash of every decision: equal digests mean equal runs. 16 hex digits. */
  readonly digest: string;
  readonly policy: string;
  /** Nominal duration of the workload, seconds; the warm-up is not part of it. */
  readonly durationSeconds: number;
  readonly requests: RequestCounts;
  readonly offeredRps: number;
  /** Answers within their objective per second of nominal duration. */
  readonly goodputRps: number;
  /** Share of the offered requests that were answered within their objective. */
  readonly sloAttainment: number;
  /**
   * Lowest share of any model's requests that were answered within their objective, among models with at least 20
   * of them; null if there were none. Absent from results of earlier versions.
   */
  readonly worstModelAttainment?: number | null;
  /** Of these models, those of which less than half of `sloAttainment` was answered within their objective. */
  readonly modelsBelowHalf?: number;
  /** Over requests that were executed (ok and late). null where there were none. */
  readonly latencyMs: LatencyMs;
  readonly actions: ActionCounts;
  /** Requests that arrived while no GPU held their model. */
  readonly coldStarts: number;
  readonly gpu: { readonly execUtilization: number; readonly weightsUtilization: number };
  readonly wall: {
    readonly seconds: number;
    readonly requestsPerSecond: number;
    readonly peakRssBytes: number;
  };
}

export interface RequestCounts {
  readonly offered: number;
  readonly ok: number;
  readonly late: number;
  readonly timeout: number;
  readonly rejected: number;
  readonly error: number;
}

export interface LatencyMs {
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly p999: number | null;
  readonly p9999: number | null;
  readonly max: number | null;
}

export interface ActionCounts {
  readonly load: number;
  readonly unload: number;
  readonly infer: number;
  /** Actions that missed their window. */
  readonly tooLate: number;
  /** Number of INFER actions by batch size, e.g. {"1": 527, "2": 2058}. */
  readonly inferByBatch: Readonly<Record<string, number>>;
}

/** One point a bin of virtual time; arrays of equal length. */
export interface TimeSeries {
  /** Virtual time at which the first bin begins: the end of the warm-up. */
  readonly beginSeconds: number;
  readonly binSeconds: number;
  /** Requests by time of arrival, per second. */
  readonly offeredRps: readonly number[];
  /** Answers within objective by time of answer, per second. */
  readonly goodputRps: readonly number[];
  /** timeout + rejected + late + error by time of answer, per second. */
  readonly failedRps: readonly number[];
  readonly coldStartRps: readonly number[];
}

/**
 * A value that the policy tuned by itself, in the bins of the time series: where it was at the end of each, and between
 * what bounds it moved inside.
 */
export interface TunedSeries {
  readonly name: string;
  /** Empty for plain numbers. */
  readonly unit: 'ms' | '';
  readonly values: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** What the logs of a run do not tell and who checks them must know. */
export interface RunSetup {
  readonly gpus: number;
  /** Pages of each GPU's weights cache, and of each model. */
  readonly cachePages: number;
  readonly modelPages: readonly number[];
  /** First user id of each workload section, ascending from 0. */
  readonly firstUsers: readonly number[];
  /** LOADs and INFERs of a GPU share one lane. */
  readonly oneLane: boolean;
  /** From the moment that a lane takes up an action to the action's begin. */
  readonly overheadMs: number;
  /** How far the clocks of workers may be off. */
  readonly clockOffsetMs: number;
}

/** Latency by percentile of executed requests; percentiles ascend: 0, 1, …, 99, 99.9, 99.99, 100. */
export interface LatencyCdf {
  readonly percentile: readonly number[];
  readonly ms: readonly number[];
}

/** One action as it ran, for timelines. Times in ms of virtual time. */
export interface TimelineEntry {
  readonly gpu: number;
  readonly lane: 'EXEC' | 'WEIGHTS';
  readonly kind: 'LOAD' | 'INFER';
  readonly model: string;
  readonly batch: number;
  readonly beginMs: number;
  readonly endMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  readonly sentMs: number;
  readonly status: number;
}

/** One section of the workload: who got what. Figures as in `Summary`. */
export interface GroupSummary {
  /** As the section is named, else its kind. */
  readonly name: string;
  /** Objective of its requests; null where each carries its own. */
  readonly sloMs: number | null;
  readonly requests: RequestCounts;
  readonly offeredRps: number;
  readonly goodputRps: number;
  readonly sloAttainment: number;
  readonly latencyMs: LatencyMs;
}

/** Everything that charts and reports need of one run. Written as `run.json`. */
export interface RunResult {
  readonly version: 1;
  /** The experiment as written, for the record. */
  readonly experiment: string;
  /** Overrides (`--set`) on top of it, in order; absent: none. */
  readonly overrides?: readonly string[];
  readonly summary: Summary;
  /** Objective that all requests share; null where they differ. */
  readonly sloMs: number | null;
  /** One group a workload section when there are several, else empty. */
  readonly groups: readonly GroupSummary[];
  readonly series: TimeSeries;
  /** What the policy tuned by itself; absent: nothing. */
  readonly tuned?: readonly TunedSeries[];
  readonly latencyCdf: LatencyCdf;
  /** A slice of the run's actions, empty unless asked for. */
  readonly timeline: readonly TimelineEntry[];
  /** Absent from results of earlier versions. */
  readonly setup?: RunSetup;
}

/** One varied key with its values as written, e.g. {key: "slo", values: ["10ms", "25ms"]}. */
export interface VariedKey {
  readonly key: string;
  readonly values: readonly string[];
}

export type SweepCell = FinishedCell | FailedCell;

interface CellPlace {
  /** Stable name: key=value pairs and the seed. */
  readonly id: string;
  /** Value of each varied key as written. */
  readonly values: Readonly<Record<string, string>>;
  readonly seed: number;
}

export interface FinishedCell extends CellPlace {
  readonly status: 'done';
  readonly result: CellResult;
}

/**
 * A run's result less its `wall` figures, so that the same sweep gives the same bytes on any machine, and
 * less what the sweep as a whole says once. Repetitions with further seeds have no timeline.
 */
export type CellResult = Omit<RunResult, 'summary' | 'experiment' | 'overrides' | 'setup'> & {
  readonly summary: Omit<Summary, 'wall'>;
  /** Absent where the sweep does not ask for it. */
  readonly bound?: BoundFigures;
};

/** Upper bounds on the goodput of any scheduler: requests per second of a run's counted time, as its `goodputRps`. */
export interface BoundFigures {
  readonly offeredRps: number;
  /** What no scheduler can pass if every batch is full. */
  readonly fluidRps: number;
  /** The same if batches hold only requests that can meet. */
  readonly windowLimitedRps: number;
  /** The same by a price on GPU time; null where there are several GPUs. */
  readonly pricedRps: number | null;
  /** The same by a price that changes over time; null likewise. */
  readonly timePricedRps: number | null;
  /** The smallest of them: the bound to compare with. */
  readonly bestRps: number;
}

export interface FailedCell extends CellPlace {
  readonly status: 'failed';
  readonly code: string;
  readonly message: string;
}

/** A whole sweep. Written as `results.json`. Cells are ordered by the grid, whatever thread ran them. */
export interface SweepResults {
  readonly version: 1;
  readonly name: string;
  /** The experiment as written, for the record. */
  readonly experiment: string;
  /** Overrides (`--set`) on top of it in every cell, in order; absent: none. */
  readonly overrides?: readonly string[];
  /** Value of each varied key when nothing overrides it, as written or as the default. */
  readonly defaults: Readonly<Record<string, string>>;
  readonly vary: readonly VariedKey[];
  readonly seeds: readonly number[];
  readonly cells: readonly SweepCell[];
}
