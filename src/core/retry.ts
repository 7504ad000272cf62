import {
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from './action.js';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, type Outcome } from './request.js';

/** Treatment of requests with time left after their INFER missed its window or lacked its weights. */
export const MISSED_WINDOWS = ['retry', 'fail'] as const;
export type MissedWindow = (typeof MISSED_WINDOWS)[number];

/** Default in live mode, whatever the policy: threads wake late, and networks stall. */
export const LIVE_MISSED_WINDOW: MissedWindow = 'retry';

/** True if requests of an INFER that ended with `status` are retried while their SLO is not over. */
export function mayRetry(status: number, missedWindow: MissedWindow): boolean {
  switch (status) {
    case STATUS_WORKER_LOST:
    case STATUS_ABORTED:
      return true;
    case STATUS_INFER_TOO_LATE:
    case STATUS_WEIGHTS_MISSING:
    case STATUS_INFER_WEIGHTS_CHANGED:
      return missedWindow === 'retry';
    default:
      return false;
  }
}

/** Outcome of a request whose INFER ended with `status` and that is not retried. */
export function outcomeOf(status: number, inTime: boolean, missedWindow: MissedWindow): Outcome {
  if (status === STATUS_OK) return inTime ? OUTCOME_OK : OUTCOME_LATE;
  // With time left, it would have been retried.
  return status !== STATUS_WORKER_LOST && mayRetry(status, missedWindow) ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}
