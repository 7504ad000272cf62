import type {
  ActionMessage,
  ModelReference,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelList } from '../model-list.js';
import type { OperatorRuns } from '../operator-runs.js';

/** What a machine reports to its driver. */
export interface MachineEvents {
  results(results: readonly ResultMessage[]): void;
  /** A GPU's executor has died: nothing sent to it is answered any more. */
  gpuDown(gpu: number, reason: string): void;
}

/**
 * The GPUs of one worker process with their executors. Times are those of the machine's monotonic clock
 * (`monotonicNs`). One driver at a time: a link in this process, or the server that a controller connects to.
 */
export interface Machine {
  readonly description: WorkerDescription;
  /** What there is now, by index; null: nothing. */
  readonly models: readonly (ServedModel | null)[];
  /** From now on `events` is notified, and no longer an earlier one. */
  attach(events: MachineEvents): void;
  /**
   * Takes the buffers of inputs of more than 16 KiB over: they may come back with the result. GPUs must be those of
   * `description`, models those of `models`.
   */
  submit(actions: readonly ActionMessage[]): void;
  /**
   * Drops what has not started, waits for what runs, restarts dead executors, and tells what is present then. A GPU whose
   * device does not return is not waited for much longer than 30 s: `gpuDown` follows.
   * No result of an action that was submitted before is reported once this has resolved.
   */
  quiesce(): Promise<WorkerState>;
  /** The models that it could have; of one model with what its files are. Rejects where that cannot be said. */
  listModels(name: string | null): Promise<ModelList>;
  /**
   * From now on this model is at the index, in place of any that was there, which must not be in use. Resolves with the
   * model as this machine runs it, when actions for it are taken; rejects with the reason, for people, where it can't be
   * had: the index is then empty.
   */
  addModel(index: number, reference: ModelReference): Promise<ServedModel>;
  /** No model is at the index any more. Resolves when its memory is free. */
  dropModel(index: number): Promise<void>;
  /** Records the operators of INFERs from now on, as far as onnxruntime runs them. Does nothing while it records. */
  startRecording(): void;
  /**
   * What was recorded; nothing, if nothing was. A GPU that dies meanwhile takes its recording along. Rejects when what
   * was recorded cannot be written or read.
   */
  stopRecording(): Promise<OperatorRuns>;
  close(): Promise<void>;
}
