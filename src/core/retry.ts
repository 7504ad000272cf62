import {
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from './action.js';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, type Outcome } from './request.js';

/** Whether requests of an INFER that ended with `status` get another chance while their objective is not over. */
export function mayRetry(status: number, policyTakesBack: boolean): boolean {
  if (status === STATUS_WORKER_LOST || status === STATUS_ABORTED) return true;
  return policyTakesBack && (status === STATUS_INFER_TOO_LATE || status === STATUS_WEIGHTS_MISSING);
}

/** What a request of an INFER is answered that ended with `status` and gets no other chance. */
export function outcomeOf(status: number, inTime: boolean, policyTakesBack: boolean): Outcome {
  if (status === STATUS_OK) return inTime ? OUTCOME_OK : OUTCOME_LATE;
  // What would have been tried again, had there been time.
  return status !== STATUS_WORKER_LOST && mayRetry(status, policyTakesBack) ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}
