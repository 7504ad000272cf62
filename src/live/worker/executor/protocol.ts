import type { MessagePort } from 'node:worker_threads';
import type { ErrorCode } from '../../../base/errors.js';
import type { DeviceMemory, DeviceSpec, OrtDeviceSpec } from '../../device.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import type { SignalBuffer } from '../../transfer.js';

/** Start-up data of an executor thread. */
export interface ExecutorThreadData {
  readonly signal: SignalBuffer;
  readonly gpus: readonly GpuSpec[];
  /** By index; null: none. */
  readonly models: readonly (WorkerModel | null)[];
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** Threads that run the models of its GPU, unless that is simulated. */
  readonly hosts: readonly HostLine[];
}

export interface GpuSpec {
  /** Index among those of the machine. */
  readonly gpu: number;
  readonly device: DeviceSpec;
}

/** Connection to the thread at the other end: post to the port or use the exec line, then raise the signal. */
export interface HostLine {
  readonly port: MessagePort;
  readonly exec: SharedArrayBuffer;
  readonly signal: SignalBuffer;
}

/** Start-up data of a host thread. */
export interface HostThreadData {
  /** Number among the host threads of its GPU. */
  readonly host: number;
  readonly signal: SignalBuffer;
  readonly executor: HostLine;
  readonly device: OrtDeviceSpec;
  readonly models: readonly HostedModel[];
}

export interface HostedModel {
  /** Index among those of the machine. */
  readonly index: number;
  readonly model: WorkerModel;
}

/** From the machine to an executor thread. */
export type ExecutorOrder =
  | { readonly kind: 'actions'; readonly actions: readonly ActionMessage[] }
  | { readonly kind: 'quiesce' }
  /** Reports memory. */
  | { readonly kind: 'memory' }
  | ModelOrder;

/** From the machine to an executor thread: changes the model at the index; null: none. The old one is not in use. */
interface ModelOrder {
  readonly kind: 'model';
  readonly index: number;
  readonly model: WorkerModel | null;
}

/** Change of a model for its host thread. */
export interface HostModelOrder {
  readonly index: number;
  readonly model: HostModel | null;
}

/** A model as kept by a host thread. */
export interface HostModel {
  readonly model: WorkerModel;
  /** Its optimized form (`.ort`) in host memory, from which it is loaded in place. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** From an executor or host thread to the machine. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'results'; readonly results: readonly ResultMessage[] }
  /** Actions that a requested quiesce waits for. */
  | { readonly kind: 'waits'; readonly actions: readonly RunningAction[] }
  /** By GPU of the thread: models whose weights are present. */
  | { readonly kind: 'quiesced'; readonly present: readonly (readonly number[])[] }
  | { readonly kind: 'memory'; readonly gpus: readonly GpuMemory[] }
  /** A host thread has carried out a `HostModelOrder`. */
  | { readonly kind: 'model'; readonly index: number };

export interface GpuMemory {
  /** Pages of its weights cache that are in use. */
  readonly usedPages: number;
  /** Null: the thread does not know. */
  readonly device: DeviceMemory | null;
}

/** An action in progress on a device. */
export type RunningAction = Pick<ActionMessage, 'gpu' | 'kind' | 'model'>;

/** An order for a host thread on its one device; the executor has waited for its window to open. */
export type HostOrder = Omit<ActionMessage, 'gpu' | 'earliestNs'>;

/** Result of the order. */
export type HostReport = Omit<ResultMessage, 'id' | 'gpu'>;

/** From an executor thread to a host thread. */
export type HostMessage =
  /** A LOAD or UNLOAD to run now. */
  | { readonly kind: 'run'; readonly order: HostOrder }
  /** The INFER of an action, to be kept until the exec line requests it. */
  | { readonly kind: 'stage'; readonly order: HostOrder }
  /** An INFER that will not be requested. */
  | { readonly kind: 'discard'; readonly id: number }
  /** Only this INFER may still be requested. */
  | { readonly kind: 'discardOthers'; readonly id: number };

/** From a host thread to its executor thread. */
export type HostReply =
  | { readonly kind: 'loaded'; readonly report: HostReport }
  /** Outputs of an INFER; times and status are on the exec line. */
  | {
      readonly kind: 'tensors';
      readonly id: number;
      readonly outputs: HostReport['outputs'];
      readonly shapes?: HostReport['shapes'];
      readonly error: string;
      readonly inputErrors?: HostReport['inputErrors'];
    };
