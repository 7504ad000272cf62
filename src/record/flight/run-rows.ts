import type { GpuState } from '../../core/fleet-observer.js';
import type { Outcome } from '../../core/request.js';
import type { Cause } from '../causes.js';
import type { RunSetup } from '../results.js';
import type { GpuTrouble } from './flight.js';

/** Requests and actions recorded by a run, wherever they are stored. */
export interface RunRows {
  /** Visits all in order of answers, until `visit` returns false. */
  readonly requests: (visit: (request: LoggedRequest) => unknown) => void;
  /** Visits all in order of results. */
  readonly actions: (visit: (action: LoggedAction) => void) => void;
  /** In order of time; absent if all GPUs are there throughout. */
  readonly fleet?: readonly LoggedChange[];
  /** GPUs that were slow. */
  readonly slow?: readonly GpuTrouble[];
  readonly setup: Pick<Required<RunSetup>, 'gpus' | 'oneLane' | 'modelInferMs'> & Pick<RunSetup, 'kinds'>;
}

/** An answered request. Times in ns since the start of the run. */
export interface LoggedRequest {
  readonly id: number;
  readonly outcome: Outcome;
  readonly user: number;
  readonly model: number;
  readonly arrivalNs: number;
  readonly answeredNs: number;
  readonly sloNs: number;
  /** Its last INFER; −1: none. */
  readonly action: number;
  /** Why it failed; null if it was answered within its SLO. */
  readonly cause: Cause | null;
  /** Indices into the classes and tenants of the run; absent if it has none. */
  readonly requestClass?: number;
  readonly tenant?: number;
  /** Length of its input; absent if not known. */
  readonly length?: number;
  /** Number of its step among those of all pipelines, or of that at which the request of a pipeline failed; absent if there is none. */
  readonly step?: number;
  /** Id of the pipeline's request that it is a step of; absent if it is of none. */
  readonly parent?: number;
}

/** A change of a GPU's state. All are off before their first. */
export interface LoggedChange {
  readonly atNs: number;
  readonly gpu: number;
  readonly state: GpuState;
}

/** Value of `action_type`. */
export const LOGGED_LOAD = 1;
export const LOGGED_INFER = 2;
export const LOGGED_UNLOAD = 3;

/** A finished action. Times in ns since the start of the run. */
export interface LoggedAction {
  readonly id: number;
  readonly type: number;
  readonly status: number;
  readonly gpu: number;
  readonly model: number;
  readonly batchSize: number;
  /** Length that the inputs of an INFER were padded to; absent if models have one each. */
  readonly paddedLength?: number;
  readonly sentNs: number;
  readonly earliestNs: number;
  /** Null if unlimited. */
  readonly latestNs: number | null;
  readonly expectedDurationNs: number;
  readonly expectedEndNs: number;
  /** Time of the result if the action failed, as logs contain nothing more precise. */
  readonly beginNs: number;
  readonly endNs: number;
  /** When the result reached the controller. */
  readonly handledNs: number;
}
