import type { ActionKind } from '../core/action.js';
import type { ServedModel, Shape } from './model.js';
import type { ModelReference } from './model-list.js';

/**
 * Messages between controller and workers, as plain objects; the protocol file has their form on a network. Times are by
 * the receiver's clock: links translate.
 */
export interface ActionMessage {
  readonly id: number;
  /** GPU of the worker, counted from 0. */
  readonly gpu: number;
  readonly kind: ActionKind;
  readonly model: number;
  readonly batchIndex: number;
  /** Index into the model's lengths of the one that inputs are padded to; absent: it takes one length. */
  readonly bucket?: number | undefined;
  /** Number of requests of an INFER, at most the batch size; the rest is padding. */
  readonly count: number;
  readonly earliestNs: number;
  /** Infinity: no limit. */
  readonly latestNs: number;
  /**
   * Only for INFER: for each input of the model, `count` requests in sequence; or `count` times as many, all inputs of
   * one request and then of the next.
   */
  readonly inputs: readonly Uint8Array[];
  /** Full shapes of the inputs; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** Parts of the inputs that workers have kept, by input and place; `inputs` is the rest. Absent: none. */
  readonly kept?: readonly KeptPart[] | undefined;
  /** By request and output: `RETURNED`, `DROPPED`, or the key under which it may be kept. Absent: all are returned. */
  readonly keep?: readonly number[] | undefined;
}

/** Uses of an output that is not kept; keys of kept ones are larger than both. */
export const RETURNED = 0;
export const DROPPED = -1;

/** Bytes `begin` to `end` of a tensor that a worker has kept, at the byte `at` of an input. */
export interface KeptPart {
  /** Index into `inputs`. */
  readonly input: number;
  readonly at: number;
  readonly key: number;
  readonly begin: number;
  readonly end: number;
}

export interface ResultMessage {
  readonly id: number;
  readonly gpu: number;
  /** One of the core's STATUS_ constants. */
  readonly status: number;
  readonly beginNs: number;
  readonly endNs: number;
  /** Time within that spent copying tensors into the device at the start, and out at the end; 0 without copies. */
  readonly copyInNs: number;
  readonly copyOutNs: number;
  /** Only for a successful INFER: in either form that inputs have. */
  readonly outputs: readonly Uint8Array<ArrayBuffer>[];
  /** Full shapes of the outputs; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** Error of the device, for people; empty otherwise. */
  readonly error: string;
  /**
   * By request of an INFER: reason why the model cannot compute its inputs; empty: it can. Absent: all are computable,
   * or it did not run. The device is fine: status and `outputs` are those of the other requests.
   */
  readonly inputErrors?: readonly string[] | undefined;
  /** Keys of the outputs that the worker has kept, which are empty here. Absent: none. */
  readonly kept?: readonly number[] | undefined;
  /** Keys of kept inputs that no worker has any more: why it was called off. Only within a controller. */
  readonly lost?: readonly number[] | undefined;
}

/** Description of one GPU by its worker. */
export interface GpuDescription {
  /** Name of the device for people, e.g. "cpu, 1 thread" or "simulated Tesla V100". */
  readonly name: string;
  readonly provider: string;
  /** Pages of its weights cache. */
  readonly pages: number;
  /** True if LOAD and INFER share one lane. */
  readonly oneLane: boolean;
}

/** Description of a worker at its start, constant during its life. */
export interface WorkerDescription {
  readonly gpus: readonly GpuDescription[];
  readonly pageBytes: number;
  /** Name of its GPUs' kind: INFERs of a kind take the same time. Absent: the provider of its first GPU. */
  readonly kind?: string;
  /** By index. Later changes are in its state. */
  readonly models: readonly ServedModel[];
  /** Name of its process; absent: none. */
  readonly instance?: string;
}

/** A change of the model at an index since the worker's start; null: none. */
export interface ModelChange {
  readonly index: number;
  readonly reference: ModelReference | null;
}

/** State reported by a worker, which is then idle, each time a controller takes it over. */
export interface WorkerState {
  /** By GPU: models whose weights are present. */
  readonly present: readonly (readonly number[])[];
  /** Absent: its models are those that it started with. */
  readonly changes?: readonly ModelChange[];
}

/** Names of kinds of GPUs, used by the experiment, by the worker and in output. */
const KIND_NAME = /^[A-Za-z0-9][\w-]{0,63}$/;

export function isKindName(text: string): boolean {
  return KIND_NAME.test(text);
}

/** Kind of a worker's GPUs: its own name for it, or else its provider. */
export function kindOfWorker({ kind, gpus }: Pick<WorkerDescription, 'kind' | 'gpus'>): string {
  return kind ?? gpus[0].provider;
}
