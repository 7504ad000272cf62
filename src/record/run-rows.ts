import { type Action, INFER } from '../core/action.js';
import type { Outcome, RequestTable } from '../core/request.js';

/*
 * Actions and requests travel as consecutive rows of numbers in a Float64Array: it moves between threads without a
 * copy, and JSON can carry the same numbers. Times in ns since the start of the run.
 */

/** Columns of an action; a later row with the same id replaces an earlier one. */
export const ACTION = {
  /** Ascending from 0 in the order of decisions. */
  id: 0,
  /** LOAD, UNLOAD, INFER or ABORT of src/core/action.ts. */
  kind: 1,
  gpu: 2,
  model: 3,
  batchSize: 4,
  /** Number of requests. */
  count: 5,
  sentNs: 6,
  earliestNs: 7,
  /** Infinity: no limit. */
  latestNs: 8,
  expectedDurationNs: 9,
  expectedEndNs: 10,
  /** Deadline of its most urgent request; Infinity: none. */
  deadlineNs: 11,
  /** NaN: not started. */
  beginNs: 12,
  /** NaN: not ended. */
  endNs: 13,
  /** When its result reached the controller; NaN: not yet. */
  handledNs: 14,
  /** −1 until the result. */
  status: 15,
} as const;
export const ACTION_COLUMNS = 16;

/** Columns of an answered request. */
export const REQUEST = {
  /** Sequence number in the run, from 0. */
  id: 0,
  model: 1,
  user: 2,
  arrivalNs: 3,
  sloNs: 4,
  answeredNs: 5,
  /** OUTCOME_OK and so on of src/core/request.ts. */
  outcome: 6,
  /** Its last INFER; −1: none. */
  action: 7,
  /** Index into CAUSES of src/record/causes.ts; −1: answered in time. */
  cause: 8,
  /** Number of its step among those of all pipelines, or of that at which the request of a pipeline failed; −1: none. */
  step: 9,
  /** Id of the pipeline's request that it is a step of; −1: it is of none. */
  parent: 10,
} as const;
export const REQUEST_COLUMNS = 11;

/** Row of an action that was just decided. `requests`: unanswered ones, to read deadlines from. */
export function plannedRow(action: Action, requests: RequestTable | null): number[] {
  const { id, kind, gpu, model, batchSize, count, sentNs, earliestNs, latestNs } = action;
  const { expectedDurationNs, expectedEndNs, status } = action;
  return [
    ...[id, kind, gpu, model, batchSize, count, sentNs, earliestNs, latestNs],
    ...[expectedDurationNs, expectedEndNs, deadlineNs(action, requests)],
    ...[Number.NaN, Number.NaN, Number.NaN, status],
  ];
}

/** Row of a request that is being answered. `cause` as in `REQUEST`. */
export function answeredRow(
  { id, model, user, arrivalNs, sloNs, failedInfer, step, parent }: RequestTable,
  slot: number,
  answer: {
    readonly outcome: Outcome;
    readonly nowNs: number;
    readonly action: Action | null;
    readonly cause: number;
  },
): number[] {
  const { outcome, nowNs, action, cause } = answer;
  return [
    ...[id[slot], model[slot], user[slot], arrivalNs[slot], sloNs[slot], nowNs, outcome],
    ...[action?.id ?? failedInfer[slot], cause],
    ...[Math.abs(step[slot]) - 1, step[slot] > 0 ? parent[slot] : -1],
  ];
}

function deadlineNs({ kind, requests, count }: Action, waiting: RequestTable | null): number {
  let earliest = Number.POSITIVE_INFINITY;
  if (kind !== INFER || waiting === null) return earliest;
  const { arrivalNs, sloNs } = waiting;
  for (let i = 0; i < count; i++) earliest = Math.min(earliest, arrivalNs[requests[i]] + sloNs[requests[i]]);
  return earliest;
}
