import { type Estimate, estimate } from '../../report/statistics.js';
import type { Usage } from './usage-meter.js';

export type Protocol = 'http' | 'grpc';

/** Stages measured separately, in the order of the pipeline, with their names for people. */
export const STAGES = { io: 'IO', synthetic: 'SYNTHETIC', full: 'FULL' } as const;
export type StageName = keyof typeof STAGES;

/** Complete result of a benchmark, as printed by `--json`. */
export interface BenchResult {
  readonly version: string;
  readonly name: string;
  /** `text`: for people; `provider`: of onnxruntime, or `simulated`. */
  readonly device: { readonly text: string; readonly provider: string };
  /** Number of processors of this machine. */
  readonly cores: number;
  readonly protocol: Protocol;
  readonly trials: number;
  /** Length of a trial. */
  readonly seconds: number;
  readonly models: readonly {
    readonly name: string;
    /** Bytes of one request. */
    readonly inputBytes: number;
    readonly outputBytes: number;
  }[];
  /** Null if nothing was varied, and there is one run. */
  readonly vary: { readonly key: string; readonly values: readonly string[] } | null;
  readonly runs: readonly BenchRun[];
}

/** Measured stages with one setting: all, or only the whole server if the number of GPUs is varied. */
export interface BenchRun {
  /** Value of the varied key. */
  readonly value: string | null;
  readonly clients: number;
  readonly sloMs: number;
  readonly intraOpThreads: number;
  readonly precision: string;
  /** By model: batch size of the bare device. */
  readonly batchSizes: readonly number[];
  readonly stages: readonly StageSummary[];
  /** Null unless all stages were measured. */
  readonly bottleneck: Bottleneck | null;
}

/**
 * The part that limits the whole.
 * - `io`, `device`: the stage with the lower throughput.
 * - `between`: the whole achieves less than the slower of the two.
 * - `generator`: the clients could not send more, so the server's limit is not known.
 * - `unclear`: the difference is within the noise.
 */
export type Bottleneck = 'io' | 'device' | 'between' | 'generator' | 'unclear';

export interface StageSummary {
  readonly stage: StageName;
  readonly throughputRps: Figure;
  /** Null for a bare device, like those that follow: no client waits for an answer. */
  readonly p50Ms: Figure | null;
  readonly p99Ms: Figure | null;
  readonly service: Service | null;
}

/** A figure over all trials. */
interface Figure extends Estimate {
  readonly min: number;
  readonly max: number;
  readonly trials: readonly number[];
}

export function figure(trials: readonly number[]): Figure {
  return { ...estimate(trials), min: Math.min(...trials), max: Math.max(...trials), trials };
}

/** Activity of clients, server and device during the trials. */
export interface Service {
  readonly generator: Usage;
  readonly server: Usage;
  /** Share of the requests without a result: refused, given up, failed. */
  readonly failedShare: number;
  /** Mean number of requests per INFER. */
  readonly meanBatch: number;
  /** Share of the time in which the EXEC lane was busy. */
  readonly deviceBusy: number;
}

/** Stage of a run by name, which must have been measured. */
export function stageOf({ stages }: Pick<BenchRun, 'stages'>, name: StageName): StageSummary {
  return stages.find(({ stage }) => stage === name) as StageSummary;
}
