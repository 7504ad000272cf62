import type { Action } from './action.js';

/**
 * The GPU as the worker sees it: things that take time. Each call starts one; the device's driver calls
 * `Worker.finished`, `copiedIn` or `copiedOut` when it is done. A device that measures the true begin of an action
 * writes it into `action.beginNs` before that.
 */
export interface DevicePort {
  /** False: INPUT and OUTPUT take no time, and are never asked for. */
  readonly copies: boolean;
  startInput(action: Action, nowNs: number): void;
  startExec(action: Action, nowNs: number): void;
  startOutput(action: Action, nowNs: number): void;
  startLoad(action: Action, nowNs: number): void;
  unload(model: number): void;
  /**
   * Stops the running EXEC: `Worker.finished` follows with `STATUS_ABORTED` once the lane is free again, or as ever if
   * it ends before. Absent: it can't be stopped.
   */
  abort?(nowNs: number): void;
}
