import type { Estimate } from '../../report/statistics.js';
import type { Protocol } from './child/messages.js';
import type { PrecisionDifference } from './precision-difference.js';
import type { Service, StageName } from './stage.js';
import type { Verdict } from './verdict.js';

/** The result's name in the folder that it is written to. */
export const BENCH_FILE = 'bench.json';

/** All that a benchmark found. `--json` prints it. */
export interface BenchResult {
  readonly version: string;
  readonly name: string;
  readonly device: {
    /** For people. */
    readonly text: string;
    readonly provider: string;
  };
  /** Processors of this machine. */
  readonly cores: number;
  readonly protocol: Protocol;
  readonly trials: number;
  /** Of a trial. */
  readonly seconds: number;
  readonly models: readonly MeasuredModel[];
  /** Null: nothing was varied, and there is one run. */
  readonly vary: { readonly key: string; readonly values: readonly string[] } | null;
  readonly runs: readonly BenchRun[];
  /** What FP16 changes in the outputs of each model; null unless both precisions were measured. */
  readonly precision: readonly PrecisionDifference[] | null;
}

export interface MeasuredModel {
  readonly name: string;
  /** Of all requests. */
  readonly share: number;
  /** Of one request. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** All stages with one setting. */
export interface BenchRun {
  /** Of the key that is varied. */
  readonly value: string | null;
  readonly clients: number;
  readonly sloMs: number;
  readonly intraOpThreads: number;
  readonly precision: string;
  /** By model: batch size of the device by itself; null for a model without requests. */
  readonly batchSizes: readonly (number | null)[];
  readonly stages: readonly StageSummary[];
  readonly verdict: Verdict;
}

export interface StageSummary {
  readonly stage: StageName;
  readonly throughputRps: Figure;
  /** Null for a device by itself: no client waits for an answer. */
  readonly p50Ms: Figure | null;
  readonly p99Ms: Figure | null;
  readonly service: Service | null;
  /** Processors that were at work for others meanwhile: nothing else should run. */
  readonly otherCores: number;
}

/** A figure over all trials. */
export interface Figure extends Estimate {
  readonly min: number;
  readonly max: number;
  readonly trials: readonly number[];
}
