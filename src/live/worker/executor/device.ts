import type { DevicePort } from '../../../core/device-port.js';
import type { Worker } from '../../../core/worker.js';
import type { LiveAction } from './live-action.js';

/** A GPU as driven by the loop of its executor thread. */
export interface Device extends DevicePort {
  /**
   * True if it raises the thread's signal when something has ended, so that it is asked whenever the thread wakes;
   * false if it knows that time in advance.
   */
  readonly signals: boolean;
  /** Next end of a running action; Infinity: nothing runs, or it raises the signal. */
  readonly nextEndNs: number;
  /** True while something runs. */
  readonly busy: boolean;
  startInput(action: LiveAction, nowNs: number): void;
  startExec(action: LiveAction, nowNs: number): void;
  startOutput(action: LiveAction, nowNs: number): void;
  startLoad(action: LiveAction, nowNs: number): void;
  /** Drops a staged action, which is answered without having run. */
  discard(action: LiveAction): void;
  /** Drops all actions that do not run yet. */
  discardWaiting(): void;
  /** Reports ended actions to the worker; their outputs and errors are in them by then. */
  collect(worker: Worker, nowNs: number): void;
}
