import {
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_INSUFFICIENT_CACHE,
  STATUS_INVALID_INPUT,
  STATUS_LOAD_TOO_LATE,
  STATUS_LOAD_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from './action.js';

const NAMES: Readonly<Record<number, string>> = {
  [STATUS_OK]: 'ok',
  [STATUS_LOAD_TOO_LATE]: 'too_late',
  [STATUS_INSUFFICIENT_CACHE]: 'insufficient_cache',
  [STATUS_LOAD_WEIGHTS_CHANGED]: 'weights_changed',
  [STATUS_INFER_TOO_LATE]: 'too_late',
  [STATUS_WEIGHTS_MISSING]: 'weights_missing',
  [STATUS_INFER_WEIGHTS_CHANGED]: 'weights_changed',
  [STATUS_INVALID_INPUT]: 'invalid_input',
  [STATUS_ABORTED]: 'aborted',
  [STATUS_DEVICE_ERROR]: 'device_error',
  [STATUS_WORKER_LOST]: 'worker_lost',
};

/** Name of an action's status, for metrics and people; its number if it has none. */
export function statusName(status: number): string {
  return NAMES[status] ?? String(status);
}

/** True if a result can have this status. */
export function isStatus(status: number): boolean {
  return NAMES[status] !== undefined;
}
