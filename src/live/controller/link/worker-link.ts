import type {
  ActionMessage,
  ModelReference,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import type { OperatorRuns } from '../../operator-runs.js';

/** By action. */
export type ReturnedInputs = ReadonlyMap<number, ActionMessage['inputs']>;

/** Who drives a worker, as one controller sees it. */
export type Driving = 'none' | 'this' | 'another';

/** What a controller hears of a worker. Never called from within a call of the controller's own. */
export interface WorkerEvents {
  /** The worker can be reached and has said what it is; another controller may drive it. Only of remote workers. */
  met(description: WorkerDescription): void;
  /** Who drives the worker has changed. Only of remote workers. */
  driven(by: Driving): void;
  /** This controller drives the worker, which is idle and takes actions. Also after each reconnection. */
  up(description: WorkerDescription, state: WorkerState): void;
  /** Times are the controller's. Actions sent before the last `up` are never answered. */
  results(results: readonly ResultMessage[]): void;
  /**
   * Nothing sent will be answered any more, until the next `up`. `gpu`: only that one; null: the whole worker.
   * `returned`: inputs of what was sent and will not be answered, where they were handed over.
   */
  down(reason: string, gpu: number | null, returned?: ReturnedInputs): void;
}

/** Name of the worker in the controller's own process. */
export const LOCAL = 'local';

/** A controller's connection with one worker, in this process or across a network. */
export interface WorkerLink {
  /** For people and metrics: `LOCAL` or HOST:PORT. */
  readonly name: string;
  /** Begins to connect, and to connect again whenever that is needed; `nowNs` is the controller's clock. */
  start(events: WorkerEvents, nowNs: () => number): void;
  /** Times are the controller's. Must be up. */
  send(actions: readonly ActionMessage[]): void;
  /** As `Machine`; they reject, too, where the worker is not up or goes down meanwhile. */
  listModels(name: string | null): Promise<ModelList>;
  addModel(index: number, reference: ModelReference): Promise<ServedModel>;
  dropModel(index: number): Promise<void>;
  /** Gives up on a worker, or on one of its GPUs: reports `down`, then tries to bring it `up` again. */
  restart(reason: string, gpu: number | null): void;
  /**
   * Records the operators of INFERs from now on. Does nothing while it is not up, or records already: after it was down
   * it has to be sent again.
   */
  startRecording(): void;
  /** What was recorded, by the controller's clock; nothing while it is not up. Rejects where it is lost, and says why. */
  stopRecording(): Promise<OperatorRuns>;
  /** Resolves when the worker was notified; no event comes afterwards. */
  close(): Promise<void>;
}
