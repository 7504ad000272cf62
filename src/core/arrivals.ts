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
  /** Input length (tokens, pixels), for models that take several; absent or 0: not given by the workload. */
  length?: number;
  /** Sender: index of the function, client or row group; `user_id` in the logs. */
  user: number;
  /** Index of its class among those of the run; absent: the first. */
  requestClass?: number;
  /** Index of its tenant among those of the run; absent: the first. */
  tenant?: number;
  /** Time the client waits for the answer before it disconnects; absent: unlimited. */
  patienceNs?: number;
  /** Moves to the next arrival. */
  advance(): void;
  /** Reports that a request of `user` was answered at `nowNs`. Only sources that depend on answers have it. */
  answered?(user: number, nowNs: number): void;
  /**
   * True while the next arrival is still in a file, so unknown until `refill` resolves. `timeNs` is then the time of
   * the last arrival delivered; the other fields are undefined.
   */
  starved?: boolean;
  /** Reads on. Needed, and to be awaited, only while `starved`. Rejects with a coded error on bad input. */
  refill?(): Promise<void>;
}
