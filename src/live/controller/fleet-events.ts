import type { ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ReturnedInputs } from './link/worker-link.js';

/** What a fleet tells the controller, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[], kind: number): void;
  /** `returned`: see `WorkerEvents`. */
  gpuDown(gpu: number, reason: string, returned?: ReturnedInputs): void;
  results(results: readonly ResultMessage[]): void;
  /** Another controller drives the workers; false: not any more. */
  standsBy(isIt: boolean): void;
  /** A worker has this model from an earlier controller. Returns whether it stays. */
  modelFound(index: number, model: ServedModel): boolean;
  /** A worker is there, is not taken on, or has gone; `asAsked`: it was asked to shut down. */
  worker(name: string, up: boolean, what: string, asAsked?: boolean): void;
  /** A worker that came by itself has left for good. */
  workerLeft(name: string): void;
}
