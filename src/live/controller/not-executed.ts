import { type Action, STATUS_WORKER_LOST } from '../../core/action.js';
import { OUTCOME_ERROR, type Outcome } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { type InferenceAnswer, SHUTTING_DOWN, WORKER_LOST } from '../service.js';

/** The answer to a request that was not executed. */
export function notExecuted(outcome: Outcome, error: string): InferenceAnswer {
  return { outcome, outputs: NO_OUTPUTS, predictedNs: 0, batchSize: 0, error };
}

/** The answer to a request that came after the end, or was open then. */
export function tooLate(): InferenceAnswer {
  return notExecuted(OUTCOME_ERROR, SHUTTING_DOWN);
}

const NO_OUTPUTS: readonly Uint8Array[] = [];

/** `action`: the INFER of a request that failed; null: it had none. */
export function whyFailed(action: Action | null): string {
  if (action === null) return '';
  return action.status === STATUS_WORKER_LOST
    ? WORKER_LOST
    : `the INFER was not executed: ${statusName(action.status)}`;
}
