import { type Estimate, estimate } from '../../report/statistics.js';
import type { Protocol, Usage } from './child/messages.js';
import type { PrecisionDifference } from './precision-difference.js';

/** What is measured by itself; `remote` is IO with the GPU in a worker process of its own. In the order of the pipeline. */
export const STAGES = ['io', 'remote', 'synthetic', 'full'] as const;
export type StageName = (typeof STAGES)[number];

/** How people read them. */
export const STAGE_TITLES: Readonly<Record<StageName, string>> = {
  io: 'IO',
  remote: 'IO, remote',
  synthetic: 'SYNTHETIC',
  full: 'FULL',
};

/** All that a benchmark found. `--json` prints it. */
export interface BenchResult {
  readonly version: string;
  readonly name: string;
  /** `text`: for people. */
  readonly device: { readonly text: string; readonly provider: string };
  /** Processors of this machine. */
  readonly cores: number;
  readonly protocol: Protocol;
  readonly trials: number;
  /** Of a trial. */
  readonly seconds: number;
  readonly models: readonly {
    readonly name: string;
    /** Of all requests. */
    readonly share: number;
    /** Of one request. */
    readonly inputBytes: number;
    readonly outputBytes: number;
  }[];
  /** Null: nothing was varied, and there is one run. */
  readonly vary: { readonly key: string; readonly values: readonly string[] } | null;
  readonly runs: readonly BenchRun[];
  /** What FP16 changes in the outputs of each model; null unless both precisions were measured. */
  readonly precision: readonly PrecisionDifference[] | null;
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

export interface Verdict {
  /**
   * - `io`, `device`: the part with the lower throughput.
   * - `between`: together they do less than the slower of both.
   * - `generator`: the clients could not send more, so the server's limit is not known.
   * - `unclear`: the difference is within the noise.
   */
  readonly bottleneck: 'io' | 'device' | 'between' | 'generator' | 'unclear';
  readonly title: string;
  readonly reason: string;
  /** What to try next, the most promising first. */
  readonly knobs: readonly Knob[];
}

/** A setting to try next. */
export interface Knob {
  /** As in a file or on the command line. */
  readonly key: string;
  readonly why: string;
  /** Flags of this command that try it; null: it is not up to this command. */
  readonly command: string | null;
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
interface Figure extends Estimate {
  readonly min: number;
  readonly max: number;
  readonly trials: readonly number[];
}

export function figure(trials: readonly number[]): Figure {
  return { ...estimate(trials), min: Math.min(...trials), max: Math.max(...trials), trials };
}

/** What clients, server and device were at during the trials. */
export interface Service {
  readonly generator: Usage;
  readonly server: Usage;
  /** Share of the requests that had no result: refused, given up, failed. */
  readonly failedShare: number;
  /** Requests of an INFER on average. */
  readonly meanBatch: number;
  /** Share of the time in which the EXEC lane was busy. */
  readonly deviceBusy: number;
}

/** A stage as it was measured, in the trials of one pass or of several. */
export interface MeasuredStage {
  readonly stage: StageName;
  readonly throughputRps: readonly number[];
  /** None of a device by itself. */
  readonly p50Ms: readonly number[];
  readonly p99Ms: readonly number[];
  readonly service: Service | null;
  readonly otherCores: number;
}

/** Every run has all stages but `remote`. */
export function stageOf<Stage extends { readonly stage: StageName }>(
  stages: readonly Stage[],
  name: StageName,
): Stage {
  return stages.find(({ stage }) => stage === name) as Stage;
}
