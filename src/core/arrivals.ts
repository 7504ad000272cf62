/**
 * A stream of requests in order of time with exactly one pending arrival, so that a day of traffic
 * never sits in memory. The fields describe the pending arrival; `advance` moves to the next.
 *
 * A driver reads the fields, hands the request to the controller and calls `advance`. Sources whose
 * future depends on answers (closed-loop clients) also implement `answered`; their `timeNs` may then
 * turn from Infinity to a finite time.
 */
export interface ArrivalSource {
  /** Integer ns since the start of the run; never decreases; Infinity when nothing is pending. */
  timeNs: number;
  /** Index of the model among the models of the run. */
  model: number;
  /** SLO of the pending request, ns. */
  sloNs: number;
  /** Length of its input (tokens, pixels), for models that take several; absent, 0: the workload gives none. */
  length?: number;
  /** Who sends it: index of the function, client or row group; `user_id` in the logs. */
  user: number;
  /** Index of its class among those of the run; absent: the first. */
  requestClass?: number;
  /** Index of its tenant among those of the run; absent: the first. */
  tenant?: number;
  /** How long its client waits for the answer before it goes; absent: as long as it takes. */
  patienceNs?: number;
  /** Moves to the next arrival. */
  advance(): void;
  /** Present only where answers matter: request of `user` was answered at `nowNs`. */
  answered?(user: number, nowNs: number): void;
  /**
   * True: the next arrival is not known until `refill` resolved, because it is still in a file.
   * `timeNs` is then the time of the arrival that was delivered last; the other fields mean nothing.
   */
  starved?: boolean;
  /** Reads on; to be awaited, and only needed, when starved. Rejects with a coded error on bad input. */
  refill?(): Promise<void>;
}
