import type { Experiment } from '../config/experiment.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { RunObserver } from '../core/observer.js';
import type { PlayReport } from '../load/player.js';
import type { Histogram } from '../record/histogram.js';
import type { GeneratorFigures, RunEvent } from '../record/results.js';
import type { Tuning } from '../record/tuned.js';
import type { Scaling } from './scaling.js';

/** Drives the scheduler through an experiment, on one kind of clock. */
export interface Engine {
  readonly kind: 'simulated' | 'live';
  drive(task: EngineTask): Promise<EngineReport>;
}

/** One run, as given to an engine. */
export interface EngineTask {
  readonly experiment: Experiment;
  readonly source: ArrivalSource;
  /** Sees requests and actions end. */
  readonly observer: RunObserver;
  /** Decides the number of GPUs, and which fail; null: all are there throughout. */
  readonly scaling: Scaling | null;
  /** Add GPUs that are lost. */
  readonly events: RunEvent[];
  /** Existing folder for the engine's own records; absent: none. */
  readonly outDir: string | undefined;
  /** Call once, when everything is set up: wall time counts from here. */
  begin(): void;
  /** Call once, before the first event, with the controller that decides. */
  watch(controller: Tuning): void;
  /** Call periodically with the time of the run, and await it where possible. */
  onProgress(nowNs: number): void | Promise<void>;
}

export interface EngineReport {
  /** Digest of all decisions. */
  readonly digest: string;
  /** Number of requests, warm-up included. */
  readonly arrivals: number;
  /** Null if simulated. */
  readonly live: LiveReport | null;
}

/** Report on a run in real time. */
export interface LiveReport {
  readonly generator: GeneratorFigures;
  /** Report of the request generator. */
  readonly played: PlayReport;
  /** Device errors, each message once. */
  readonly deviceErrors: readonly string[];
  /** Lateness of each of the controller's timers, ns. */
  readonly wakeLateness: Histogram;
  /** Path of the journal, if requested. */
  readonly journal: string | null;
}
