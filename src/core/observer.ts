import type { Action } from './action.js';
import type { Outcome, RequestTable } from './request.js';

/**
 * Sees every answer and every action of a run, in order. Metrics and logs are built from
 * nothing else. Observers must not change what they are shown, nor keep the objects.
 */
export interface RunObserver {
  /** The controller has decided on `action`: its window and its expected times are set. Live, it leaves a moment later. */
  decided?(action: Action, nowNs: number): void;
  /**
   * The request in `slot` is answered at `nowNs`, other than `cancelled`. `copies`: GPUs that hold its model now;
   * `action`: the INFER that served it, or null if it never got into one.
   */
  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void;
  /** The same for a request that its client withdrew before it was executed, which counts as not offered. */
  cancelled?(requests: RequestTable, slot: number, nowNs: number, copies: number): void;
  /**
   * The result of `action` has reached the controller. `queued`: requests that wait for its model;
   * `copies`: GPUs that hold it.
   */
  completed(action: Action, nowNs: number, queued: number, copies: number): void;
}
