/** One trial: a fixed number of requests, from the first one sent to the last one answered. */
export interface Trial {
  readonly tookNs: number;
  readonly requests: number;
  /** Times that a request had no result and was sent again. */
  readonly failed: number;
  readonly infers: number;
  readonly loads: number;
  /** By GPU: time that its EXEC lane was busy with INFERs that served requests. */
  readonly busyNs: readonly number[];
  /** What these INFERs take by the models' profiles. */
  readonly profileNs: number;
  /** Time that the core took to take in what happened and decide. */
  readonly stepNs: number;
  /** Share of the time in which the event loop of the controller's thread was busy, with the clients in it. */
  readonly loopBusy: number;
  /** Time that the controller's thread waited for a core; null: not known. */
  readonly waitNs: number | null;
  /** Processors that all threads of the process used on average. */
  readonly cores: number;
  /** From the end of an INFER on its GPU until the controller knows, ns: p99. */
  readonly resultDelayP99Ns: number;
}

/** All trials with one number of GPUs. */
export interface PointTrials {
  readonly gpus: number;
  readonly models: number;
  readonly clients: number;
  readonly sloNs: number;
  readonly trials: readonly Trial[];
  /** How late the clients' requests were sent, ns: p99. */
  readonly latenessP99Ns: number;
}
