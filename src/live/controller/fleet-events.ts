import type { ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ReturnedInputs } from './link/worker-link.js';

/** Events of a fleet, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[], kind: number): void;
  /** `returned`: see `WorkerEvents`. */
  gpuDown(gpu: number, reason: string, returned?: ReturnedInputs): void;
  results(results: readonly ResultMessage[]): void;
  /** True when another controller drives the workers; false when it no longer does. */
  standsBy(isIt: boolean): void;
  /** Reports a model that a worker has from an earlier controller. Returns true if it stays. */
  modelFound(index: number, model: ServedModel): boolean;
  /** Reports a worker that is up, refused or down; `asAsked`: it was asked to shut down. */
  worker(name: string, up: boolean, what: string, asAsked?: boolean): void;
  /** Reports that a worker that registered itself has left for good. */
  workerLeft(name: string): void;
}
