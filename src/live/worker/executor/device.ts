import type { DevicePort } from '../../../core/device-port.js';
import type { Worker } from '../../../core/worker.js';
import type { LiveAction } from './live-action.js';

/** A GPU as the loop of its executor thread drives it. */
export interface Device extends DevicePort {
  /**
   * True: it raises the thread's signal when something has ended, so it is asked whenever the thread wakes.
   * False: it knows beforehand when that is.
   */
  readonly signals: boolean;
  /** When the first of what runs will end; Infinity: nothing runs, or it raises the signal. */
  readonly nextEndNs: number;
  /** Something runs. */
  readonly busy: boolean;
  startInput(action: LiveAction, nowNs: number): void;
  startExec(action: LiveAction, nowNs: number): void;
  startOutput(action: LiveAction, nowNs: number): void;
  startLoad(action: LiveAction, nowNs: number): void;
  /** An action that was staged is answered without having run. */
  discard(action: LiveAction): void;
  /** The same, and its inputs are needed: calls `back` later, when they are in the action. */
  takeBack(action: LiveAction, back: () => void): void;
  /** Actions that do not run yet never will. */
  discardWaiting(): void;
  /** Tells the worker what has ended by now; outputs and errors are in the action by then. */
  collect(worker: Worker, nowNs: number): void;
}
