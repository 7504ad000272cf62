import type { GpuState } from '../../core/fleet-observer.js';
import type { RunSetup } from '../results.js';
import type { ACTION, REQUEST } from '../run-rows.js';
import type { GpuTrouble } from './flight.js';

/** Requests and actions recorded by a run, wherever they are stored. */
export interface RunRows {
  /** Visits all in order of answers, until `visit` returns false. */
  readonly requests: (visit: (request: LoggedRequest) => unknown) => void;
  /** Visits all that ended, in order of results. */
  readonly actions: (visit: (action: LoggedAction) => void) => void;
  /** In order of time; absent if all GPUs are there throughout. */
  readonly fleet?: readonly LoggedChange[];
  /** GPUs that were slow. */
  readonly slow?: readonly GpuTrouble[];
  readonly setup: Pick<Required<RunSetup>, 'gpus' | 'oneLane' | 'modelInferMs'> & Pick<RunSetup, 'kinds'>;
}

/** An answered request: the columns of `REQUEST`, and facts about its sender; below 0 or NaN: none, or not known. */
export type LoggedRequest = Readonly<Record<keyof typeof REQUEST, number>> & {
  /** Indices into the classes and tenants of the run, and length of its input. */
  readonly requestClass?: number;
  readonly tenant?: number;
  readonly length?: number;
};

/** A finished action: columns of `ACTION`. Begin and end count only if its status is 0. */
export type LoggedAction = Readonly<Record<Exclude<keyof typeof ACTION, 'count' | 'deadlineNs'>, number>> & {
  /** Length that the inputs of an INFER were padded to; 0 or absent: models have one each. */
  readonly paddedLength?: number;
};

/** A change of a GPU's state. All are off before their first. */
export interface LoggedChange {
  readonly atNs: number;
  readonly gpu: number;
  readonly state: GpuState;
}
