import { LogReader } from '../../base/files/log-reader.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../../core/request.js';
import { CAUSES } from '../causes.js';
import type { LoggedRequest } from './run-rows.js';

const COLUMNS = [
  't',
  'request_id',
  'result',
  'user_id',
  'model_id',
  'latency',
  'deadline',
  'deadline_met',
  'action_id',
  'cause',
] as const;

const OPTIONAL = ['class_id', 'tenant_id', 'length'] as const;

/** Visits the rows of requests.tsv in order of answers, until `visit` returns false. Throws `E_RESULTS`. */
export function readRequests(path: string, visit: (request: LoggedRequest) => unknown): void {
  const log = new LogReader(path, COLUMNS, OPTIONAL);
  try {
    while (log.next()) {
      const [t, id, result, user, model, latency, sloNs, met, action, cause] = log.values;
      const [requestClass, tenant, length] = log.values.subarray(COLUMNS.length);
      const request = {
        id,
        outcome: outcomeOf(result, met),
        user,
        model,
        arrivalNs: t - latency,
        answeredNs: t,
        sloNs,
        action,
        cause: CAUSES[cause] ?? null,
        ...(requestClass >= 0 ? { requestClass } : {}),
        ...(tenant >= 0 ? { tenant } : {}),
        ...(length > 0 ? { length } : {}),
      };
      if (visit(request) === false) return;
    }
  } finally {
    log.close();
  }
}

/** Inverse of `RESULT_OF_OUTCOME`. */
function outcomeOf(result: number, met: number): Outcome {
  if (result === 0) return met === 1 ? OUTCOME_OK : OUTCOME_LATE;
  if (result === 4) return OUTCOME_TIMEOUT;
  if (result === 8) return OUTCOME_CANCELLED;
  return result === 7 ? OUTCOME_REJECTED : OUTCOME_ERROR;
}
