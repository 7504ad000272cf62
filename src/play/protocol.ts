import type { BoundFigures, ScheduledRun } from '../record/results.js';

/*
 * Messages between the page and the worker that simulates. The page sends commands, and the worker answers with events.
 * Times in ns of virtual time since the start of the run.
 */

/** One experiment as text. The page holds the files that the text names. */
export interface LaneSource {
  readonly text: string;
  readonly overrides: readonly string[];
  /** Text or bytes by the paths that the experiment names. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

export type Command =
  /** Opens one experiment, or two side by side on the same arrivals, paused at 0. */
  | { readonly type: 'open'; readonly lanes: readonly LaneSource[] }
  /**
   * Replaces the experiments and runs the new ones up to the present moment. A simulation is deterministic: if they
   * differ in the future only (`cluster.changes`, `failures`, a workload that starts later), the past is the same.
   * Playing continues.
   */
  | { readonly type: 'change'; readonly lanes: readonly LaneSource[] }
  /** Runs at `speed` virtual seconds per wall second, or slower if the machine is. */
  | { readonly type: 'play'; readonly speed: number }
  | { readonly type: 'pause' }
  /** Runs to the next instant at which anything happens in any lane, and pauses. */
  | { readonly type: 'stepEvent' }
  /** Runs to the next request not answered in time (late, refused, timed out or failed), and pauses. */
  | { readonly type: 'jumpToNextLate' }
  | { readonly type: 'runToEnd' }
  | { readonly type: 'story'; readonly lane: number; readonly request: number }
  /**
   * Computes the bound that no scheduler can exceed. It can take seconds and blocks the thread, so send it to a second
   * worker, which needs no `open`.
   */
  | { readonly type: 'bound'; readonly source: LaneSource };

export type EngineEvent =
  /** Answers `open` and `change`. Later frames cover the run from its start. */
  | { readonly type: 'opened'; readonly lanes: readonly OpenedLane[] }
  | FrameEvent
  /** Story of a request; null: not answered yet, or no such request. */
  | { readonly type: 'story'; readonly lane: number; readonly request: number; readonly story: Story | null }
  /** Every request of every lane is answered. */
  | { readonly type: 'done'; readonly lanes: readonly ScheduledRun[] }
  | { readonly type: 'bound'; readonly figures: BoundFigures }
  /** A jump ended at this request; absent: there is none in the rest of the run. */
  | { readonly type: 'jumped'; readonly missed: { readonly lane: number; readonly request: number } | null }
  | ErrorEvent;

export interface OpenedLane {
  readonly name: string;
  readonly policy: string;
  readonly gpus: number;
  /** True if LOAD and INFER share a lane. */
  readonly oneLane: boolean;
  /** Names of models, then of pipelines. */
  readonly models: readonly string[];
  readonly sloNs: number;
  readonly durationNs: number;
  readonly warmupNs: number;
  readonly seed: number | string;
  /**
   * After a `change`: true if the decisions up to the present moment equal those of the previous run, by digest. True
   * for `open`.
   */
  readonly isPastSame: boolean;
}

/** Sent at most 60 times a second, and whenever playing stops. */
export interface FrameEvent {
  readonly type: 'frame';
  readonly nowNs: number;
  readonly isPlaying: boolean;
  readonly lanes: readonly LaneFrame[];
}

export interface LaneFrame {
  /** Actions planned, begun or ended since the last frame: rows of `ACTION`. */
  readonly actions: Float64Array<ArrayBuffer>;
  /** Requests answered since the last frame: rows of `REQUEST`. */
  readonly requests: Float64Array<ArrayBuffer>;
  /** Number of unanswered requests in the controller, those of pipeline steps included. */
  readonly waiting: number;
  /** Since the start of the run, warm-up included. */
  readonly counts: Readonly<
    Record<'arrived' | 'inTime' | 'late' | 'refused' | 'timedOut' | 'failed', number>
  >;
  /** Over the last second of virtual time. Null: nothing was answered in it. */
  readonly goodputRps: number;
  readonly attainment: number | null;
  /** Histogram of executed requests by latency since the start: bin i ends at `latencyBinEndNs(i)`. */
  readonly latency: Uint32Array<ArrayBuffer>;
  /** Running hash of the decisions so far, 16 hex digits. */
  readonly digest: string;
}

/** A story as in `escapement explain`. */
export interface Story {
  /** Id of the request, which for one of a step is that of the pipeline's. */
  readonly request: number;
  /** Name of its model or pipeline. */
  readonly model: string;
  readonly outcome: string;
  readonly arrivalNs: number;
  readonly deadlineNs: number;
  readonly answeredNs: number;
  /** Ids of its actions: LOADs of its model that it waited for, and its INFER; of a pipeline the INFERs of all steps. */
  readonly actions: readonly number[];
  /** Events in order; times in the texts count from the request's arrival. */
  readonly events: readonly { readonly atNs: number; readonly text: string }[];
  /** Reasons for its outcome, in sentences. */
  readonly why: readonly string[];
}

/** A mistake in an experiment, or in a file that it names. */
export interface ErrorEvent {
  readonly type: 'error';
  /** Lane of the mistake; absent: not specific to one. */
  readonly lane?: number;
  /** Complete one-line message. */
  readonly message: string;
  readonly line?: number;
  readonly key?: string;
}
