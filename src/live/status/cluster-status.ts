/** What a running controller is at, for people who look at it: `GET /status` and `escapement top`. Plain JSON. */
export interface ClusterStatus {
  /** Version of this format. */
  readonly version: 1;
  readonly policy: string;
  readonly host: string;
  readonly upSeconds: number;
  /** Takes requests. */
  readonly ready: boolean;
  /** Rates and shares are means over about this long, up to now. */
  readonly windowSeconds: number;
  readonly requests: {
    readonly arrivedPerS: number;
    /** Answers within their objective, per second. */
    readonly goodputPerS: number;
    /** All other answers, per second. */
    readonly failedPerS: number;
    readonly unanswered: number;
    /** Since the start, by outcome: ok, late, timeout, rejected, error. */
    readonly totals: Readonly<Record<string, number>>;
    /** Each of the last complete seconds, at most 60, the latest last. */
    readonly lastMinute: {
      readonly arrived: readonly number[];
      readonly good: readonly number[];
      readonly failed: readonly number[];
    };
  };
  readonly gpus: readonly GpuStatus[];
  /** The most active ones, at most 200, most active first. */
  readonly models: readonly ModelStatus[];
  /** How many there are besides. */
  readonly otherModels: number;
}

export interface GpuStatus {
  readonly up: boolean;
  readonly worker: string;
  readonly lanes: readonly LaneStatus[];
  readonly pages: number;
  readonly freePages: number;
  readonly warmModels: number;
}

export interface LaneStatus {
  /** `EXEC` and `WEIGHTS`; `EXEC+WEIGHTS` where a GPU does one thing at a time. */
  readonly lane: string;
  /** Share of the window in which it was busy. */
  readonly busy: number;
  /** How far into the future it is booked, ms. */
  readonly bookedMs: number;
  /** What it should be at, e.g. `resnet18 ×4` or `LOAD resnet18`; empty: nothing. */
  readonly running: string;
}

export interface ModelStatus {
  readonly name: string;
  /** GPUs that hold it. */
  readonly copies: number;
  readonly queued: number;
  readonly arrivedPerS: number;
  readonly goodputPerS: number;
  readonly failedPerS: number;
  /** Moving averages of what a request goes through, ms; null: nothing ran lately. */
  readonly queueMs: number | null;
  readonly copyInMs: number | null;
  readonly execMs: number | null;
  readonly copyOutMs: number | null;
}
