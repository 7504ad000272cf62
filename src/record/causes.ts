import {
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from '../core/action.js';
import { OUTCOME_LATE, OUTCOME_REJECTED, OUTCOME_TIMEOUT, type Outcome } from '../core/request.js';
import { LIMIT_RATE, LIMIT_SHARE } from '../core/tenants.js';

/** Reasons why a request was not answered within its SLO; each failed request has exactly one. */
export const CAUSES = [
  'late',
  'refused',
  'timedOutCold',
  'timedOutQueued',
  'missedWindow',
  'deviceError',
  'workerLost',
  'overRate',
  'overShare',
] as const;
export type Cause = (typeof CAUSES)[number];

/** Failed requests by cause. */
export type FailureCounts = Readonly<Record<Cause, number>>;

/** Meaning of each cause, for people. */
export const CAUSE_MEANINGS: Readonly<Record<Cause, string>> = {
  late: 'executed, but answered after its deadline',
  refused: 'refused by admission or by the policy: on arrival, or when queued again after its INFER failed',
  timedOutCold:
    'given up while no GPU held its model, or less than the duration of an INFER after a GPU had loaded it',
  timedOutQueued:
    'given up although a GPU had held its model long enough to serve it: its INFER did not start in time',
  missedWindow:
    'its turn came too late, its weights were not loaded, or they were unloaded while its INFER ran',
  deviceError: 'the device failed at its INFER, or no device could load its model',
  workerLost: 'its worker was lost before it was answered',
  overRate: 'refused on arrival: its tenant had used up its rate and burst',
  overShare: 'refused on arrival: GPUs were overloaded, and its tenant was over its fair share',
};

/** Name of each cause in a word or two, for lines and tables. */
export const CAUSE_LABELS: Readonly<Record<Cause, string>> = {
  late: 'late',
  refused: 'refused',
  timedOutCold: 'timed out cold',
  timedOutQueued: 'timed out in queue',
  missedWindow: 'missed window',
  deviceError: 'device error',
  workerLost: 'worker lost',
  overRate: 'beyond rate',
  overShare: 'beyond share',
};

const INDEX = Object.fromEntries(CAUSES.map((cause, i) => [cause, i])) as Readonly<Record<Cause, number>>;
/** Statuses of a wrong schedule rather than a failed device: those that `missedWindow` of an experiment applies to. */
const MISSED = [STATUS_INFER_TOO_LATE, STATUS_WEIGHTS_MISSING, STATUS_INFER_WEIGHTS_CHANGED];

/**
 * Index into `CAUSES` for a failed request. Its last failed INFER decides, even if it was queued again after that; an
 * INFER called off by the policy counts as waiting. `failedStatus`: of that INFER, `STATUS_OK` if there was none;
 * `cold`: as for `timedOutCold`; `limit`: of its tenant, as in `RequestTable`.
 */
export function causeIndex(outcome: Outcome, failedStatus: number, cold: boolean, limit: number): number {
  if (outcome === OUTCOME_LATE) return INDEX.late;
  if (outcome === OUTCOME_REJECTED) {
    if (limit === LIMIT_RATE) return INDEX.overRate;
    return limit === LIMIT_SHARE ? INDEX.overShare : INDEX.refused;
  }
  if (MISSED.includes(failedStatus)) return INDEX.missedWindow;
  if (failedStatus === STATUS_WORKER_LOST) return INDEX.workerLost;
  if (outcome !== OUTCOME_TIMEOUT) return INDEX.deviceError;
  if (failedStatus !== STATUS_OK && failedStatus !== STATUS_ABORTED) return INDEX.deviceError;
  return cold ? INDEX.timedOutCold : INDEX.timedOutQueued;
}
