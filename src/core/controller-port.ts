import type { Action } from './action.js';
import type { Outcome } from './request.js';

/** Where the controller's output goes. Called during `step`, never at other times. */
export interface ControllerPort {
  /** Send the action to its GPU's worker. The object comes back through `result`. */
  send(action: Action, nowNs: number): void;
  /**
   * Answer the request in `slot`; `action` is the INFER that served it, or null. The slot is free again when this
   * returns.
   */
  answer(slot: number, outcome: Outcome, nowNs: number, action: Action | null): void;
  /** A model that was retired is gone: no GPU holds it, nothing of it is under way, and its slot may be given away. */
  modelGone?(model: number, nowNs: number): void;
}
