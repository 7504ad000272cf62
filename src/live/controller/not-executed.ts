import { type Action, STATUS_WORKER_LOST } from '../../core/action.js';
import { OUTCOME_ERROR, OUTCOME_REJECTED, type Outcome } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { LIMIT_RATE, type Tenant } from '../../core/tenants.js';
import { shareText } from '../../record/share-text.js';
import { type InferenceAnswer, overRateText, SHUTTING_DOWN, WORKER_LOST } from '../service.js';

/** Answer to a request that was not executed. */
export function notExecuted(outcome: Outcome, error: string): InferenceAnswer {
  return { outcome, outputs: NO_OUTPUTS, predictedNs: 0, batchSize: 0, error };
}

/** Answer to a request that came after the end, or was open then. */
export function tooLate(): InferenceAnswer {
  return notExecuted(OUTCOME_ERROR, SHUTTING_DOWN);
}

/** Answer beyond a tenant's limits; `waitNs`: time until the next request, if known; `part`: its share of all. */
export function overLimit(limit: number, tenant: Tenant, waitNs: number, part: number): InferenceAnswer {
  const why =
    limit === LIMIT_RATE
      ? overRateText(tenant, waitNs)
      : `the tenant ${tenant.name} is over its share of ${shareText(part)} while the server is overloaded`;
  return { ...notExecuted(OUTCOME_REJECTED, why), predictedNs: waitNs, isOverLimit: true };
}

const NO_OUTPUTS: readonly Uint8Array[] = [];

/** `action`: INFER of a failed request; null: none. */
export function whyFailed(action: Action | null): string {
  if (action === null) return '';
  return action.status === STATUS_WORKER_LOST
    ? WORKER_LOST
    : `the INFER was not executed: ${statusName(action.status)}`;
}
