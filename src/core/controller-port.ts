import type { Action } from './action.js';
import type { Outcome } from './request.js';

/** Output of the controller. Called only during `step`. */
export interface ControllerPort {
  /** Sends the action to its GPU's worker. The object comes back through `result`. */
  send(action: Action, nowNs: number): void;
  /**
   * Answers the request in `slot`; `action` is the INFER that served it, or null. The slot is free again when this
   * returns.
   */
  answer(slot: number, outcome: Outcome, nowNs: number, action: Action | null): void;
  /** Reports that request number `i` of a pipeline's step waits in `own`; that of the pipeline is in `slot`. */
  stepBegun?(slot: number, step: number, i: number, own: number): void;
  /** Reports that a retired model is gone: no GPU holds it, nothing of it is in flight, and its slot is free. */
  modelGone?(model: number, nowNs: number): void;
  /** Reports that there are more model slots. */
  grew?(slots: number, nowNs: number): void;
}
