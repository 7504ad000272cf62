import type { Experiment } from '../config/experiment.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { RunObserver } from '../core/observer.js';
import type { WrittenRecording } from '../live/recording/recording-control.js';
import type { PlayReport } from '../load/player.js';
import type { GeneratorFigures } from '../record/results.js';
import type { Tuning } from '../record/tuned.js';
import type { Scaling } from './scaling.js';

/** Drives the scheduler through an experiment, on one kind of clock. */
export interface Engine {
  readonly kind: 'simulated' | 'live';
  drive(task: EngineTask): Promise<EngineReport>;
}

/** One run, as an engine gets it. */
export interface EngineTask {
  readonly experiment: Experiment;
  readonly source: ArrivalSource;
  /** Sees requests and actions end. */
  readonly observer: RunObserver;
  /** What decides how many GPUs there are; null: that is given. */
  readonly scaling: Scaling | null;
  /** Folder, which exists, for what the engine itself records; absent: none. */
  readonly outDir: string | undefined;
  /** To be called once, when all is set up: wall time counts from here. */
  begin(): void;
  /** To be called once, before the first event, with the controller that decides. */
  watch(controller: Tuning): void;
  /** To be called now and then with the time of the run, and waited for where that is possible. */
  onProgress(nowNs: number): void | Promise<void>;
}

export interface EngineReport {
  /** Of all decisions. */
  readonly digest: string;
  /** Requests, warm-up included. */
  readonly arrivals: number;
  /** Null: simulated. */
  readonly live: LiveReport | null;
}

/** What only a run in real time has. */
export interface LiveReport {
  readonly generator: GeneratorFigures;
  /** How the generator of the requests did. */
  readonly played: PlayReport;
  /** What went wrong on the devices, each message once. */
  readonly deviceErrors: readonly string[];
  /** How late each of the controller's timers was, ns. */
  readonly wakeLatenessNs: readonly number[];
  /** The journal, if one was asked for. */
  readonly journal: string | null;
  /** What was recorded, if `runtime.recording` asks for it. */
  readonly recording: WrittenRecording | null;
}
