import type { ActionKind } from '../core/action.js';
import type { ServedModel, Shape } from './model.js';

/**
 * What controller and workers tell each other, as plain objects. They cross a thread boundary as they are and
 * a network as the protocol file says. Times are those of the receiver's clock: links translate.
 */
export interface ActionMessage {
  readonly id: number;
  /** GPU of the worker, counted from 0. */
  readonly gpu: number;
  readonly kind: ActionKind;
  readonly model: number;
  readonly batchIndex: number;
  /** Index into the model's lengths of what inputs are padded to; absent: it takes one length. */
  readonly bucket?: number | undefined;
  /** Requests of an INFER: at most the batch size; the rest is padding. */
  readonly count: number;
  readonly earliestNs: number;
  /** Infinity: no limit. */
  readonly latestNs: number;
  /**
   * Only for INFER: for each input of the model, `count` requests one after the other; or `count` times as many, all
   * inputs of one request and then of the next.
   */
  readonly inputs: readonly Uint8Array<ArrayBuffer>[];
  /** Their whole shapes; only of a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
}

export interface ResultMessage {
  readonly id: number;
  readonly gpu: number;
  /** One of the core's STATUS_ constants. */
  readonly status: number;
  readonly beginNs: number;
  readonly endNs: number;
  /** How long at the begin and at the end of that time tensors were copied into and out of the device; 0 if none were. */
  readonly copyInNs: number;
  readonly copyOutNs: number;
  /** Only for an INFER that went well: in either form that inputs have. */
  readonly outputs: readonly Uint8Array<ArrayBuffer>[];
  /** Their whole shapes; only of a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** What went wrong on the device, for people; empty otherwise. */
  readonly error: string;
  /**
   * Why the model cannot compute the inputs of a request, for each request of an INFER; empty: it can. Absent: it can
   * compute all of them, or did not run. The device is well: status and `outputs` are those of the other requests.
   */
  readonly inputErrors?: readonly string[] | undefined;
  /** Of an INFER that did not run: its inputs, which may be tried again elsewhere. Absent: they were not handed over. */
  readonly inputs?: ActionMessage['inputs'] | undefined;
}

/** One GPU of a worker, as it introduces itself. */
export interface GpuDescription {
  /** Names the device for people, e.g. "cpu, 1 thread" or "simulated Tesla V100". */
  readonly name: string;
  readonly provider: string;
  /** Pages of its weights cache. */
  readonly pages: number;
  /** LOAD and INFER share one lane. */
  readonly oneLane: boolean;
}

/** What a worker is and has when it starts. Does not change while it lives. */
export interface WorkerDescription {
  readonly gpus: readonly GpuDescription[];
  readonly pageBytes: number;
  /** Names what its GPUs are alike in: INFERs of a kind take the same time. Absent: the provider of its first GPU does. */
  readonly kind?: string;
  /** By index. Those that came and went since are in its state. */
  readonly models: readonly ServedModel[];
  /** Names its process; absent: it has no name. */
  readonly instance?: string;
}

/** What every worker knows a version of a model by. */
export interface ModelReference {
  readonly name: string;
  readonly version: string;
  /** Of its files and settings; empty: whatever the worker has of that version. */
  readonly digest: string;
}

/** Another model is at an index than when the worker started; null: none. */
export interface ModelChange {
  readonly index: number;
  readonly reference: ModelReference | null;
}

/** What a worker reports when a controller takes it on, first or again: it is idle then. */
export interface WorkerState {
  /** By GPU: models whose weights are present. */
  readonly present: readonly (readonly number[])[];
  /** Absent: its models are those that it started with. */
  readonly changes?: readonly ModelChange[];
}
