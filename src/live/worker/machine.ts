import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelList, ModelReference } from '../model-list.js';

/** Events of a machine for its driver. */
export interface MachineEvents {
  results(results: readonly ResultMessage[]): void;
  /** A GPU's executor has died: nothing sent to it is answered any more. */
  gpuDown(gpu: number, reason: string): void;
}

/**
 * GPUs of one worker process with their executors. Times are those of the machine's monotonic clock (`monotonicNs`).
 * One driver at a time: a link in this process, or the server that a controller connects to.
 */
export interface Machine {
  readonly description: WorkerDescription;
  /** Current models, by index; null: none. */
  readonly models: readonly (ServedModel | null)[];
  /** Notifies `events` from now on, in place of an earlier one. */
  attach(events: MachineEvents): void;
  /** Takes actions, whose inputs move to the threads of their GPUs. GPUs must be those of `description`, models those of `models`. */
  submit(actions: readonly ActionMessage[]): void;
  /**
   * Drops actions that have not started, waits for running ones, restarts dead executors, and resolves with the models
   * present then. A GPU whose device does not return is not waited for much longer than 30 s: `gpuDown` follows. No
   * result of an earlier action is reported once this has resolved.
   */
  quiesce(): Promise<WorkerState>;
  /** Models that it could have, or one of them with digests of its files. Rejects if unknown. */
  listModels(name: string | null, config?: string): Promise<ModelList>;
  /**
   * Puts this model at the index, replacing any that was there, which must not be in use. Resolves with the model as
   * this machine runs it, once actions for it are accepted. The index is then empty if it resolves with null, because
   * there is no model of that name, or rejects with the reason, for people, why it is unavailable.
   */
  addModel(index: number, reference: ModelReference): Promise<ServedModel | null>;
  /** Removes the model at the index. Resolves when its memory is free. */
  dropModel(index: number): Promise<void>;
  close(): Promise<void>;
}
