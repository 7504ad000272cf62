import type { Action } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';

/** What happens around the core, for logs and metrics. */
export interface LiveEvents {
  /** The timer for the core's next wake-up fired this much after its time. */
  wokeLate(lateNs: number): void;
  gpuDown(gpu: number, reason: string): void;
  gpuUp(gpu: number): void;
  worker(name: string, up: boolean, what: string): void;
  deviceError(gpu: number, model: string, error: string): void;
  /** The core has taken in what happened and decided: that began at `nowNs` and took `tookNs`. */
  stepped(nowNs: number, tookNs: number): void;
  /** The core has decided on an action. */
  sent(action: Action): void;
  /** The result of an action has come; `action` has its times already. */
  ran(action: Action, result: ResultMessage): void;
}

/** Nobody cares; for those who care about some of it. */
export const NO_EVENTS: LiveEvents = {
  wokeLate: () => {},
  gpuDown: () => {},
  gpuUp: () => {},
  worker: () => {},
  deviceError: () => {},
  stepped: () => {},
  sent: () => {},
  ran: () => {},
};
