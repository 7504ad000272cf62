import type { Action } from './action.js';
import type { Outcome, RequestTable } from './request.js';

/**
 * Observer of every answer and every action of a run, in order. Metrics and logs are built from nothing else. Observers
 * must not change or keep the objects they are shown.
 */
export interface RunObserver {
  /** Reports a decided action with its window and expected times set. In live mode it leaves a moment later. */
  decided?(action: Action, nowNs: number): void;
  /**
   * Reports that the request in `slot` was answered at `nowNs`, other than `cancelled`. `copies`: GPUs that hold its
   * model now; `action`: the INFER that served it, or null if it never got into one.
   */
  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void;
  /** Reports a request that its client withdrew before execution, which counts as not offered. */
  cancelled?(requests: RequestTable, slot: number, nowNs: number, copies: number): void;
  /**
   * Reports that the result of `action` reached the controller. `queued`: requests waiting for its model; `copies`:
   * GPUs that hold it.
   */
  completed(action: Action, nowNs: number, queued: number, copies: number): void;
}
