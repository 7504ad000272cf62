import type { Outcome } from '../../core/request.js';
import type { Cause } from '../causes.js';
import type { RunSetup } from '../results.js';

/** What a run leaves of its requests and actions, wherever it is kept. */
export interface RunRows {
  /** Visits all in order of the answers, until `visit` returns false. */
  readonly requests: (visit: (request: LoggedRequest) => unknown) => void;
  /** Visits all in order of their results. */
  readonly actions: (visit: (action: LoggedAction) => void) => void;
  readonly setup: Pick<Required<RunSetup>, 'gpus' | 'oneLane' | 'modelInferMs'> & Pick<RunSetup, 'kinds'>;
}

/** A request that was answered. Times in ns since the start of the run. */
export interface LoggedRequest {
  readonly id: number;
  readonly outcome: Outcome;
  readonly user: number;
  readonly model: number;
  readonly arrivalNs: number;
  readonly answeredNs: number;
  readonly sloNs: number;
  /** The last INFER that it was in; −1: none. */
  readonly action: number;
  /** Why it failed; null: it was answered within its SLO. */
  readonly cause: Cause | null;
  /** Indices among the classes and the tenants of the run; absent: it has none. */
  readonly requestClass?: number;
  readonly tenant?: number;
  /** Length of its input; absent: it is not known. */
  readonly length?: number;
}

/** `action_type`. */
export const LOGGED_LOAD = 1;
export const LOGGED_INFER = 2;
export const LOGGED_UNLOAD = 3;

/** An action that has ended. Times in ns since the start of the run. */
export interface LoggedAction {
  readonly id: number;
  readonly type: number;
  readonly status: number;
  readonly gpu: number;
  readonly model: number;
  readonly batchSize: number;
  readonly sentNs: number;
  readonly earliestNs: number;
  /** Null: a window without end. */
  readonly latestNs: number | null;
  readonly expectedDurationNs: number;
  readonly expectedEndNs: number;
  /** Of an action that failed, when its result came: a log has no more. */
  readonly beginNs: number;
  readonly endNs: number;
  /** When the result reached the controller. */
  readonly handledNs: number;
}
