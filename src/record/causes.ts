import {
  type Action,
  LOAD,
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from '../core/action.js';
import { type ModelSpec, shortestExecNs } from '../core/model.js';
import {
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../core/request.js';
import { LIMIT_PIPELINE, LIMIT_RATE, LIMIT_SHARE } from '../core/tenants.js';

/** Causes of failure, each with a label and its meaning. A request not answered within its SLO has exactly one. */
const TABLE = {
  late: ['late', 'executed, but answered after its deadline'],
  refused: [
    'refused',
    'refused by admission or by the policy: on arrival, or when queued again after its INFER failed',
  ],
  timedOutCold: [
    'timed out cold',
    'given up while no GPU held its model, or less than the duration of an INFER after a GPU had loaded it',
  ],
  timedOutQueued: [
    'timed out in queue',
    'given up although a GPU had held its model long enough to serve it: its INFER did not start in time',
  ],
  missedWindow: [
    'missed window',
    'its INFER came too late, its weights were not loaded, or they were unloaded while its INFER ran',
  ],
  deviceError: ['device error', 'the device failed at its INFER, or no device could load its model'],
  workerLost: ['worker lost', 'its worker was lost before it was answered'],
  overRate: ['beyond rate', 'refused on arrival: its tenant had used up its rate and burst'],
  overShare: [
    'beyond share',
    'refused on arrival: GPUs were overloaded, and its tenant was over its fair share',
  ],
  restTooLong: [
    'no time for the rest',
    'given up between steps of its pipeline: the remaining steps could not finish by its deadline',
  ],
} as const;
export type Cause = keyof typeof TABLE;
export const CAUSES = Object.keys(TABLE) as readonly Cause[];

/** Failed requests by cause. */
export type FailureCounts = Readonly<Record<Cause, number>>;

/** Name of each cause in a word or two, for lines and tables. */
export const CAUSE_LABELS = columnOf(0);
/** Meaning of each cause, for people. */
export const CAUSE_MEANINGS = columnOf(1);

function columnOf(column: 0 | 1): Readonly<Record<Cause, string>> {
  return Object.fromEntries(CAUSES.map((cause) => [cause, TABLE[cause][column]])) as Record<Cause, string>;
}

const INDEX = Object.fromEntries(CAUSES.map((cause, i) => [cause, i])) as Readonly<Record<Cause, number>>;
/** Statuses caused by the schedule, not by a failed device: `missedWindow` of an experiment applies to these. */
const MISSED = [STATUS_INFER_TOO_LATE, STATUS_WEIGHTS_MISSING, STATUS_INFER_WEIGHTS_CHANGED];

/**
 * Index into `CAUSES` for a failed request. Its last failed INFER decides, even if it was queued again after that; an
 * INFER called off by the policy counts as waiting. `failedStatus`: of that INFER, `STATUS_OK` if there was none;
 * `cold`: as for `timedOutCold`; `limit`: of its tenant, as in `RequestTable`.
 */
function causeIndex(outcome: Outcome, failedStatus: number, cold: boolean, limit: number): number {
  if (outcome === OUTCOME_LATE) return INDEX.late;
  if (limit === LIMIT_PIPELINE) return INDEX.restTooLong;
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

/** Finds the cause of each failure. The recorder feeds it every finished action, in order; one per run. */
export class CauseFinder {
  /** By model: when it was loaded onto a GPU while no other held it. */
  private readonly heldSinceNs: number[] = [];

  /** In live mode, models are added to and removed from `models`. */
  constructor(private readonly models: readonly ModelSpec[]) {}

  completed({ kind, status, model }: Action, nowNs: number, copies: number): void {
    if (kind === LOAD && status === STATUS_OK && copies === 1) this.heldSinceNs[model] = nowNs;
  }

  /** Index into `CAUSES` of a request that is being answered; −1: answered in time. */
  indexOf(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, copies: number): number {
    if (outcome === OUTCOME_OK) return -1;
    const warm = requests.arrivalCopies[slot] > 0 || this.fitsInfer(requests.model[slot], nowNs);
    return causeIndex(outcome, requests.failedStatus[slot], !(copies > 0 && warm), requests.limit[slot]);
  }

  /** True if some GPU has held the model for as long as an INFER of one request takes. The model is not a pipeline. */
  private fitsInfer(model: number, nowNs: number): boolean {
    if (model >= this.models.length) return false;
    const sinceNs = this.heldSinceNs[model] ?? Number.NEGATIVE_INFINITY;
    return nowNs - sinceNs >= shortestExecNs(this.models[model]);
  }
}
