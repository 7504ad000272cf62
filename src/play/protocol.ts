import type { BoundFigures, ScheduledRun } from '../record/results.js';

/*
 * What the page and the worker that simulates say to each other. The page sends commands, and the worker answers with events.
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
  /** Opens one experiment, or two side by side on the same arrivals. They stand at 0, paused. */
  | { readonly type: 'open'; readonly lanes: readonly LaneSource[] }
  /**
   * Replaces the experiments and runs the new ones up to the present moment. A simulation is deterministic: if they differ
   * in the future only (`cluster.changes`, `gpuClock`, a workload that starts later), the past is the same.
   * Playing goes on.
   */
  | { readonly type: 'change'; readonly lanes: readonly LaneSource[] }
  /** Runs at `speed` virtual seconds per wall second, or as fast as the machine can where that is slower. */
  | { readonly type: 'play'; readonly speed: number }
  | { readonly type: 'pause' }
  /** To the next instant at which anything happens in any lane, and pauses. */
  | { readonly type: 'stepEvent' }
  /** To the next request that is not answered in time: late, refused, timed out or failed. Then pauses. */
  | { readonly type: 'jumpToNextLate' }
  | { readonly type: 'runToEnd' }
  | { readonly type: 'story'; readonly lane: number; readonly request: number }
  /**
   * What no scheduler can exceed. It takes up to seconds and blocks the thread: ask a second worker, which needs no
   * `open`, to keep the first one playing.
   */
  | { readonly type: 'bound'; readonly source: LaneSource };

export type EngineEvent =
  | OpenedEvent
  | FrameEvent
  | StoryEvent
  | DoneEvent
  | BoundEvent
  /** A jump ended at this request; absent: there is none in the rest of the run. */
  | { readonly type: 'jumped'; readonly missed: { readonly lane: number; readonly request: number } | null }
  | ErrorEvent;

/** Answers `open` and `change`. Frames after it tell of the run from its start. */
interface OpenedEvent {
  readonly type: 'opened';
  readonly lanes: readonly OpenedLane[];
}

export interface OpenedLane {
  readonly name: string;
  readonly policy: string;
  readonly gpus: number;
  /** LOAD and INFER share a lane. */
  readonly oneLane: boolean;
  readonly models: readonly string[];
  readonly sloNs: number;
  readonly durationNs: number;
  readonly warmupNs: number;
  readonly seed: number | string;
  /**
   * Of a `change`: whether the decisions up to the present moment are those of the run before it, by their digests.
   * True for `open`.
   */
  readonly isPastSame: boolean;
}

/** At most 60 a second, and one whenever playing stops. */
export interface FrameEvent {
  readonly type: 'frame';
  readonly nowNs: number;
  readonly isPlaying: boolean;
  readonly lanes: readonly LaneFrame[];
}

export interface LaneFrame {
  /** Actions that were planned, began or ended since the last frame: rows of `ACTION`. */
  readonly actions: Float64Array<ArrayBuffer>;
  /** Requests that were answered since the last frame: rows of `REQUEST`. */
  readonly requests: Float64Array<ArrayBuffer>;
  /** Requests in the controller without an answer. */
  readonly waiting: number;
  readonly counts: Counts;
  /** Of the second of virtual time that ends now. Null: nothing was answered in it. */
  readonly goodputRps: number;
  readonly attainment: number | null;
  /** Requests that were executed, by latency since the start: bin i ends at `latencyBinEndNs(i)`. */
  readonly latency: Uint32Array<ArrayBuffer>;
  /** Running hash of the decisions so far, 16 hex digits. */
  readonly digest: string;
}

/** Since the start of the run, warm-up included. */
interface Counts {
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly refused: number;
  readonly timedOut: number;
  readonly failed: number;
}

/** What became of a request, as `escapement explain` tells it. */
interface StoryEvent {
  readonly type: 'story';
  readonly lane: number;
  readonly request: number;
  /** Null: it was not answered yet, or there is no such request. */
  readonly story: Story | null;
}

export interface Story {
  readonly model: string;
  readonly outcome: string;
  readonly arrivalNs: number;
  readonly deadlineNs: number;
  readonly answeredNs: number;
  /** Ids of its actions: LOADs of its model that it waited for, and its INFER. */
  readonly actions: readonly number[];
  /** What happened, in order; times in the texts count from its arrival. */
  readonly events: readonly { readonly atNs: number; readonly text: string }[];
  /** Why it ended as it did, in sentences. */
  readonly why: readonly string[];
}

/** Every request of every lane is answered. */
interface DoneEvent {
  readonly type: 'done';
  readonly lanes: readonly ScheduledRun[];
}

interface BoundEvent {
  readonly type: 'bound';
  readonly figures: BoundFigures;
}

/** What is wrong with an experiment, or with a file that it names. */
export interface ErrorEvent {
  readonly type: 'error';
  /** In which lane; absent: it is not one of a lane. */
  readonly lane?: number;
  /** One line that says all. */
  readonly message: string;
  readonly line?: number;
  readonly key?: string;
}
