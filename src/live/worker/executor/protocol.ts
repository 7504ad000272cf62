import type { MessagePort } from 'node:worker_threads';
import type { ErrorCode } from '../../../base/errors.js';
import type { DeviceSpec, OrtDeviceSpec } from '../../device.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import type { SignalBuffer } from '../../signal.js';

/** What an executor thread is started with. */
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

/** How to reach the thread at the other end: post to the port or use the exec line, then raise the signal. */
export interface HostLine {
  readonly port: MessagePort;
  readonly exec: SharedArrayBuffer;
  readonly signal: SignalBuffer;
}

/** What a host thread is started with. */
export interface HostThreadData {
  /** Number among the host threads of its GPU. */
  readonly host: number;
  readonly signal: SignalBuffer;
  readonly executor: HostLine;
  readonly device: OrtDeviceSpec;
  readonly models: readonly HostedModel[];
  /** Says when to record operators, and where: the folder is there meanwhile. */
  readonly recording: SharedArrayBuffer;
  readonly recordFolder: string;
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
  | ModelOrder;

/** From the machine to an executor thread: another model is at the index, or none. The old one is not in use. */
interface ModelOrder {
  readonly kind: 'model';
  readonly index: number;
  readonly model: WorkerModel | null;
}

/** The same for the host thread whose model it is. */
export interface HostModelOrder {
  readonly index: number;
  readonly model: HostModel | null;
}

/** A model as a host thread keeps it. */
export interface HostModel {
  readonly model: WorkerModel;
  /** Its optimised form (`.ort`) in host memory, from which it is loaded in place. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** From an executor or host thread to the machine. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'results'; readonly results: readonly ResultMessage[] }
  /** Asked to quiesce, it waits for these. */
  | { readonly kind: 'waits'; readonly actions: readonly RunningAction[] }
  /** By GPU of the thread: models whose weights are present. */
  | { readonly kind: 'quiesced'; readonly present: readonly (readonly number[])[] }
  /** A host thread has done what a `HostModelOrder` asked for. */
  | { readonly kind: 'model'; readonly index: number }
  | RecordedReport;

/** What a device has begun. */
export type RunningAction = Pick<ActionMessage, 'gpu' | 'kind' | 'model'>;

/** From a host thread to the machine: a recording of operators has ended. */
export interface RecordedReport {
  readonly kind: 'recorded';
  /** That of the switch while it was on. */
  readonly number: number;
  readonly logs: readonly RecordedLog[];
  /** INFERs that ran meanwhile and are in no log. */
  readonly missed: number;
}

/** INFERs of one session whose operators onnxruntime has recorded. */
export interface RecordedLog {
  /** The profile that onnxruntime wrote. */
  readonly path: string;
  /** That many runs in it come before the first INFER. */
  readonly warmUps: number;
  /** Three numbers for each INFER: its action, and when it began and ended. */
  readonly runs: Float64Array;
}

/** What a host thread is to run on its one device; the executor has waited for its window to open. */
export type HostOrder = Omit<ActionMessage, 'gpu' | 'earliestNs'>;

/** What came of it. */
export type HostReport = Omit<ResultMessage, 'id' | 'gpu'>;

/** From an executor thread to a host thread. */
export type HostMessage =
  /** A LOAD or UNLOAD to run now. */
  | { readonly kind: 'run'; readonly order: HostOrder }
  /** The INFER of an action, to be kept until the exec line asks for it. */
  | { readonly kind: 'stage'; readonly order: HostOrder }
  /** An INFER that will not be asked for. */
  | { readonly kind: 'discard'; readonly id: number }
  /** The same, and its inputs are to come back. */
  | { readonly kind: 'takeBack'; readonly id: number }
  /** Nor will any other than this. */
  | { readonly kind: 'discardOthers'; readonly id: number };

/** From a host thread to its executor thread. */
export type HostReply =
  | { readonly kind: 'loaded'; readonly report: HostReport }
  /** What an INFER gave; times and status are on the exec line. */
  | {
      readonly kind: 'tensors';
      readonly id: number;
      readonly outputs: HostReport['outputs'];
      readonly shapes?: HostReport['shapes'];
      readonly error: string;
      readonly inputErrors?: HostReport['inputErrors'];
      /** Of one that did not run, if they were handed over. */
      readonly inputs?: HostOrder['inputs'];
    }
  | { readonly kind: 'back'; readonly id: number; readonly inputs: HostOrder['inputs'] };
