import type { Usage } from './child/messages.js';

/** What is measured by itself; `remote` is IO with the GPU in a worker process of its own. */
export const STAGES = ['io', 'remote', 'synthetic', 'full'] as const;
export type StageName = (typeof STAGES)[number];

/** How people read them. */
export const STAGE_TITLES: Readonly<Record<StageName, string>> = {
  io: 'IO',
  remote: 'IO, remote',
  synthetic: 'SYNTHETIC',
  full: 'FULL',
};

/** A stage with clients, as it was measured: a figure of each trial. */
export interface ServedStage {
  readonly stage: Exclude<StageName, 'synthetic'>;
  readonly throughputRps: readonly number[];
  readonly p50Ms: readonly number[];
  readonly p99Ms: readonly number[];
  readonly service: Service;
  readonly otherCores: number;
}

/** A device by itself: no client waits for an answer. */
export interface DeviceStage {
  readonly stage: 'synthetic';
  readonly throughputRps: readonly number[];
  /** Processors that were at work for others meanwhile: nothing else should run. */
  readonly otherCores: number;
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
