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

/** Driver of a worker, as one controller sees it. */
export type Driving = 'none' | 'this' | 'another';

/** Events of a worker for its controller. Never called from within a call of the controller's own. */
export interface WorkerEvents {
  /** The worker can be reached and has described itself; another controller may drive it. Only for remote workers. */
  met(description: WorkerDescription): void;
  /** The worker's driver has changed. Only for remote workers. */
  driven(by: Driving): void;
  /** This controller drives the worker, which is idle and takes actions. Also after each reconnection. */
  up(description: WorkerDescription, state: WorkerState): void;
  /** Times are the controller's. Actions sent before the last `up` are never answered. */
  results(results: readonly ResultMessage[]): void;
  /**
   * Nothing sent will be answered any more, until the next `up`. `gpu`: only for that one; null: the whole worker.
   */
  down(reason: string, gpu: number | null): void;
}

/** Name of the worker in the controller's own process. */
export const LOCAL = 'local';

/** A controller's connection with one worker, in this process or across a network. */
export interface WorkerLink {
  /** For people and metrics: `LOCAL` or HOST:PORT. */
  readonly name: string;
  /** Starts to connect, and to reconnect when needed; `nowNs` is the controller's clock. */
  start(events: WorkerEvents, nowNs: () => number): void;
  /** Copies inputs, which may take longer than a window. Absent: `send` makes no copies that do. */
  prepare?(action: ActionMessage): ActionMessage;
  /** Takes prepared actions. Times are the controller's. Must be up. */
  send(actions: readonly ActionMessage[]): void;
  /** Like `Machine`; also rejects if the worker is not up or goes down meanwhile. */
  listModels(name: string | null): Promise<ModelList>;
  addModel(index: number, reference: ModelReference): Promise<ServedModel>;
  dropModel(index: number): Promise<void>;
  /** Gives up a worker, or one of its GPUs: reports `down`, then tries to bring it `up` again. */
  restart(reason: string, gpu: number | null): void;
  /**
   * Records the operators of INFERs from now on. No effect unless it is up, or while recording: must be sent again
   * after it was down.
   */
  startRecording(): void;
  /** Recorded operators, by the controller's clock; none unless it is up. Rejects with the reason if they are lost. */
  stopRecording(): Promise<OperatorRuns>;
  /** Resolves when the worker was notified; no event comes afterwards. */
  close(): Promise<void>;
}

/** A worker went down before it could answer: it is asked again when it is back, or left alone. */
export class WorkerGone extends Error {
  constructor() {
    super('the worker is not connected any more');
  }
}
