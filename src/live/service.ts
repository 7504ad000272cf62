import { NS_PER_MS } from '../base/units.js';
import type { Outcome } from '../core/request.js';
import type { Tenant } from '../core/tenants.js';
import type { KeptPart } from './messages.js';
import type { ServedModel, Shape } from './model.js';

/** One version of a model as known to frontends. Plain data: it crosses threads. */
export interface ModelEntry {
  readonly name: string;
  readonly version: string;
  /** True if it gets requests without a version. */
  readonly isDefault: boolean;
  readonly state: 'loading' | 'ready' | 'unloading' | 'unavailable';
  /** Reason why it is not ready, or serves other files than those on disk; for people, '' if neither. */
  readonly reason: string;
  /** True if it was never loaded, or a client has unloaded it. Default: false. */
  readonly isUnloaded?: boolean;
  /** Model index for `infer`; −1 unless ready. Never reused for another model while a request may name it. */
  readonly index: number;
  /**
   * Reason why no GPU in service runs it, for people; absent: one does. Requests are taken nevertheless: the scheduler may
   * have a slower GPU for one with a long SLO.
   */
  readonly blocked?: string;
  /** Null: not known yet. */
  readonly model: ServedModel | null;
  /** Number of its name in metrics, from 1 on. Absent or 0: none. */
  readonly label?: number;
}

/** Reason why a server that is about to end is not ready. */
export const DRAINING = 'draining';
/** Reason why a server that stands by is not ready. */
export const STANDS_BY = 'it stands by while another controller drives the workers; ask that one';
/** Error of a request that came too late, or was unanswered when the server ended. */
export const SHUTTING_DOWN = 'the server is shutting down';
/** Error of a request whose worker was lost when there was no time left to retry it elsewhere. */
export const WORKER_LOST = 'the worker that was to run it was lost; send it again';

/** "waited 28.653 ms": time for which a request was not executed. */
export function waitedText({ passedNs = 0 }: InferenceAnswer): string {
  return `waited ${(passedNs / NS_PER_MS).toFixed(3)} ms`;
}

/** Error of a request whose tenant exceeds its rate; `waitNs`: time until it may send another. */
export function overRateText({ name, rateRps, burst }: Omit<Tenant, 'share'>, waitNs: number): string {
  const limit = `the tenant ${name} is over its rate of ${rateRps}/s with bursts of ${burst}`;
  return `${limit}: it may send again in ${Math.ceil(waitNs / NS_PER_MS)} ms`;
}

/** State of a service. Replaced as a whole on each change; plain data. */
export interface ServiceState {
  /** Reason why the server is not ready, for people, e.g. "no worker is up" or `DRAINING`; null: it is ready. */
  readonly notReady: string | null;
  /** True if ready models take requests although the server is not ready: it starts, or will soon drain. */
  readonly takesRequests?: boolean;
  /** True if a controller that ends leaves it the workers: `takeOver` precedes the first inference. Default: false. */
  readonly takesOver?: boolean;
  /** True while the scheduling thread hangs: nothing is answered until it continues. Default: false. */
  readonly hangs?: boolean;
  /** Explanation for clients of how models are loaded. Default: by clients. */
  readonly howLoaded?: string;
  readonly entries: readonly ModelEntry[];
}

/** Inference as the frontends see it: one request in, exactly one answer out. */
export interface InferenceService {
  readonly state: ServiceState;
  /** Its clock, on which requests arrive. */
  nowNs(): number;
  /** Submits one request. `done` is called once, later, never from within this call. */
  infer(request: InferenceRequest): void;
  /** Puts a model into service; `config`: JSON in place of its `config.pbtxt`. Rejects with a `ServiceError`. */
  load(name: string, config?: string): Promise<void>;
  /** Reports a request for a model that is loading: it goes before others that were not requested. Never rejects. */
  wants(name: string): Promise<void>;
  /** Takes all versions of a model out of service. Rejects with a `ServiceError`. */
  unload(name: string): Promise<void>;
  /** Resolves when it has the workers that another controller leaves to it, or after a while. Never rejects. */
  takeOver(): Promise<void>;
  /** Updates `state` with models on disk that are not loaded, as far as possible in a short time. Never rejects. */
  look(): Promise<void>;
  /** Statistics of each version in `state` that ever took requests. */
  statistics(): Promise<readonly ModelStatistics[]>;
}

/** A service whose state can be followed, so that a server can keep its frontends informed. */
export interface WatchedService extends InferenceService {
  /**
   * Calls `changed` after each replacement of `state`; it may return a promise that resolves once it has
   * notified others. Returns a function that stops it.
   */
  watch(changed: () => unknown): () => void;
}

/** Service of a controller: its models come and go by index, not by name. */
export type SchedulingService = Omit<
  WatchedService,
  'load' | 'wants' | 'unload' | 'look' | 'statistics' | 'takeOver'
>;

/** Reason why a service did not fulfil a client's request; the message is for the client, one complete line. */
export class ServiceError extends Error {
  constructor(
    readonly kind: 'unknown' | 'invalid' | 'needsRestart' | 'notReady' | 'failed',
    message: string,
  ) {
    super(message);
    this.name = 'ServiceError';
  }
}

/** Number of occurrences, and their total duration. */
interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

/** Statistics of one version of a model, with the fields of the protocol's statistics extension. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** End of the last inference, ms of Unix time; 0: there was none. */
  readonly lastInferenceMs: number;
  /** Executed requests, each counted by its batch. */
  readonly inferenceCount: number;
  /** Number of runs of the model. */
  readonly executionCount: number;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
  /** By batch size. */
  readonly batches: readonly {
    readonly batchSize: number;
    readonly computeInput: StatisticDuration;
    readonly computeInfer: StatisticDuration;
    readonly computeOutput: StatisticDuration;
  }[];
}

/** Holder of requests that are not answered yet. */
export interface RequestKeeper {
  /** Call when the client of a request has gone: unless in an action already, it is answered `cancelled`. */
  cancel(request: InferenceRequest): void;
}

export interface InferenceRequest {
  /** Index of a ready entry of the service's state. The service may put another number there. */
  model: number;
  /** Sender, for logs and per-section figures; 0 if unknown. */
  readonly user: number;
  /** Index of its class; absent: the first. */
  readonly requestClass?: number;
  /** Index of its tenant; absent: the first. */
  readonly tenant?: number;
  /** SLO. */
  readonly sloNs: number;
  /** Length of its input, for a model that takes several; 0 or absent otherwise. */
  readonly length?: number;
  /** For a pipeline, by step: number of its requests, unless the tensors say so. Absent: one each. */
  counts?: Int32Array;
  /** Start of the SLO, on the service's clock and not later than now; absent: now. */
  readonly arrivalNs?: number | undefined;
  /** The client's `traceparent`; null or absent: none. */
  readonly trace?: string | null;
  /**
   * One entry for each input of the model, of exactly its size in bytes. Unchanged until the answer. The buffers of large ones (more
   * than 16 KiB) move to the thread that schedules; only requests that are made at once may share them.
   */
  readonly inputs: readonly Uint8Array[];
  /** Full shapes of the inputs; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** For a step of a pipeline: parts of its inputs that workers have kept, and uses of its outputs, as in its INFER. */
  readonly kept?: readonly KeptPart[];
  readonly keep?: readonly number[];
  /** GPU on which its last INFER failed; absent: none has. Written by the service. */
  failedOn?: number;
  /** Its keeper, and its number there; absent: it cannot be cancelled. Written by the service. */
  keeper?: RequestKeeper;
  slot?: number;
  done(answer: InferenceAnswer): void;
}

export interface InferenceAnswer {
  /** One of the core's OUTCOME_ constants. `late` has outputs, too. */
  readonly outcome: Outcome;
  /** One entry for each output of the model; empty unless it was executed. */
  readonly outputs: readonly Uint8Array[];
  /** Full shapes of the outputs; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /**
   * For a rejected or timed-out request: last predicted latency, from its arrival on. 0: none was predicted, or it was
   * executed.
   */
  readonly predictedNs: number;
  /** For a rejected or timed-out request: time it had waited. Absent: none. */
  readonly passedNs?: number;
  /** Batch size of its INFER; 0 if it had none. */
  readonly batchSize: number;
  /** Error of the device, or reason for rejection other than its SLO; empty otherwise. */
  readonly error: string;
  /** True if it was refused for its tenant's limits; `predictedNs` is then the time until the next may be sent. */
  readonly isOverLimit?: boolean | undefined;
  /** True if the error is that the model cannot compute the inputs. */
  readonly isOfInputs?: boolean | undefined;
}
