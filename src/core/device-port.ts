import type { Action } from './action.js';

/**
 * The GPU as the worker sees it: operations that take time. Each call starts one; on completion the device's driver
 * calls `Worker.finished`, `copiedIn` or `copiedOut`. A device that measures the true start of an action writes it into
 * `action.beginNs` first.
 */
export interface DevicePort {
  /** False if INPUT and OUTPUT take no time; the device is then never asked for them. */
  readonly copies: boolean;
  startInput(action: Action, nowNs: number): void;
  startExec(action: Action, nowNs: number): void;
  startOutput(action: Action, nowNs: number): void;
  startLoad(action: Action, nowNs: number): void;
  unload(model: number): void;
  /**
   * Stops the running EXEC: `Worker.finished` follows with `STATUS_ABORTED` once the lane is free, or with the normal
   * result if it ends first. Absent: it can't be stopped.
   */
  abort?(nowNs: number): void;
}
