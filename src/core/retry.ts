import {
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from './action.js';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, type Outcome } from './request.js';

/** What becomes of requests whose INFER missed its window, or whose weights were not there, while they have time. */
export const MISSED_WINDOWS = ['retry', 'fail'] as const;
export type MissedWindow = (typeof MISSED_WINDOWS)[number];

/** Default in real time, whatever the policy: threads wake late, links have hiccups. */
export const LIVE_MISSED_WINDOW: MissedWindow = 'retry';

/** Whether requests of an INFER that ended with `status` get another chance while their SLO is not over. */
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

/** What a request of an INFER is answered that ended with `status` and gets no other chance. */
export function outcomeOf(status: number, inTime: boolean, missedWindow: MissedWindow): Outcome {
  if (status === STATUS_OK) return inTime ? OUTCOME_OK : OUTCOME_LATE;
  // What would have been tried again, had there been time.
  return status !== STATUS_WORKER_LOST && mayRetry(status, missedWindow) ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}
