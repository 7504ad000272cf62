import { NS_PER_MS } from '../base/units.js';
import type { Outcome } from '../core/request.js';
import type { Tenant } from '../core/tenants.js';
import type { ServedModel, Shape } from './model.js';

/** One version of a model as frontends know it. Plain data: it crosses threads. */
export interface ModelEntry {
  readonly name: string;
  readonly version: string;
  /** Requests without a version go here. */
  readonly isDefault: boolean;
  readonly state: 'loading' | 'ready' | 'unloading' | 'unavailable';
  /** Why it is not ready, or serves other files than those on disk; for people, '' if neither. */
  readonly reason: string;
  /** What `infer` takes; −1 unless ready. Never reused for another model while a request may name it. */
  readonly index: number;
  /** Null: not known yet. */
  readonly model: ServedModel | null;
  /** Number of the name that metrics know it by, from 1 on. Absent or 0: none. */
  readonly label?: number;
}

/** Why a server that is about to end is not ready. */
export const DRAINING = 'draining';
/** Why a server that another one stands in for is not ready. */
export const STANDS_BY = 'it stands by while another controller drives the workers; ask that one';
/** Error of a request that came too late, or was not answered when the server ended. */
export const SHUTTING_DOWN = 'the server is shutting down';
/** Error of a request whose worker was lost when there was no time left to try it elsewhere. */
export const WORKER_LOST = 'the worker that was to run it was lost; send it again';
/** Error of a request whose inputs went with a thread, so that it cannot be tried elsewhere. */
export const INPUTS_LOST = 'its inputs were lost with the thread that was to run it; send it again';

/** Error of a request whose tenant sends more than its rate; `waitNs`: until it may send another. */
export function overRateText({ name, rateRps, burst }: Omit<Tenant, 'share'>, waitNs: number): string {
  const limit = `the tenant ${name} is over its rate of ${rateRps}/s with bursts of ${burst}`;
  return `${limit}: it may send again in ${Math.ceil(waitNs / NS_PER_MS)} ms`;
}

/** What a service says of itself. Replaced as a whole at each change; plain data. */
export interface ServiceState {
  /** Why the server is not ready, for people, e.g. "no worker is up" or `DRAINING`; null: it is. */
  readonly notReady: string | null;
  /** Although it is not ready, models that are take requests: it still starts, or has announced that it will drain. */
  readonly takesRequests?: boolean;
  /** The thread that schedules hangs: nothing is answered until it goes on. Default: it does not. */
  readonly hangs?: boolean;
  /** How a model that is not loaded comes to be, for clients. Default: they load it. */
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
  /** Puts a model into service. Rejects with a `ServiceError`. */
  load(name: string): Promise<void>;
  /** Takes all versions of a model out of service. Rejects with a `ServiceError`. */
  unload(name: string): Promise<void>;
  /** Brings `state` up to date with what lies on disk and is not loaded, as far as that can be had soon. Never rejects. */
  look(): Promise<void>;
  /** What has happened to each version in `state` that took requests at any time. */
  statistics(): Promise<readonly ModelStatistics[]>;
}

/** A service whose state can be followed, as a server needs it to keep its frontends informed. */
export interface WatchedService extends InferenceService {
  /** Calls `changed` after each replacement of `state`. Returns what ends that. */
  watch(changed: () => void): () => void;
}

/** What a controller does: its models come and go by index, not by name. */
export type SchedulingService = Omit<WatchedService, 'load' | 'unload' | 'look' | 'statistics'>;

/** Why a service did not do what a client asked for; the message is for the client, one line and complete. */
export class ServiceError extends Error {
  constructor(
    readonly kind: 'unknown' | 'invalid' | 'needsRestart' | 'notReady' | 'failed',
    message: string,
  ) {
    super(message);
    this.name = 'ServiceError';
  }
}

/** How often something happened, and how long it took in all. */
interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

/** What has happened to one version of a model, with the fields of the protocol's statistics extension. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** When the last inference ended, ms of Unix time; 0: there was none. */
  readonly lastInferenceMs: number;
  /** Requests that were executed, each counted by its batch. */
  readonly inferenceCount: number;
  /** Runs of the model. */
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

/** Keeps requests until their answers. */
export interface RequestKeeper {
  /** The client of a request has gone: unless it is under way already, it is answered `cancelled`. */
  cancel(request: InferenceRequest): void;
}

export interface InferenceRequest {
  /** Index of a ready entry of the service's state. The service may put another number there. */
  model: number;
  /** Who sends it, for logs and per-section figures; 0 if that is not known. */
  readonly user: number;
  /** Index of its class; absent: the first. */
  readonly requestClass?: number;
  /** Index of its tenant; absent: the first. */
  readonly tenant?: number;
  /** SLO. */
  readonly sloNs: number;
  /** Length of its input, for a model that takes several; 0, absent: it takes one. */
  readonly length?: number;
  /** What the SLO counts from, on the service's clock and not later than now; absent: now. */
  readonly arrivalNs?: number | undefined;
  /** The client's `traceparent`; null or absent: it sent none. */
  readonly trace?: string | null;
  /** One entry for each input of the model, of exactly its size in bytes. They stay as they are until the answer. */
  inputs: readonly Uint8Array[];
  /**
   * True: the buffers of large inputs (more than 16 KiB) belong to this request alone, and the service may hand them to
   * another thread for good. Otherwise it copies what it hands over.
   */
  readonly mayMove?: boolean;
  /** Their whole shapes; only for a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /** GPU on which its last INFER failed; absent: none has. Written by the service. */
  failedOn?: number;
  /** How long it has waited for its model, which was asleep, to be read again. Absent: it was awake. */
  asleepNs?: number;
  /** Who keeps it, and under which number; absent: it cannot be cancelled. Written by the service. */
  keeper?: RequestKeeper;
  slot?: number;
  done(answer: InferenceAnswer): void;
}

export interface InferenceAnswer {
  /** One of the core's OUTCOME_ constants. `late` has outputs, too. */
  readonly outcome: Outcome;
  /** One entry for each output of the model; empty unless it was executed. */
  readonly outputs: readonly Uint8Array[];
  /** Their whole shapes; only of a model with free sizes. */
  readonly shapes?: readonly Shape[] | undefined;
  /**
   * Of a request that was rejected or given up: the latency that was last to be expected, from its arrival on. 0: none was
   * predicted, or it was executed.
   */
  readonly predictedNs: number;
  /** Of a request that was rejected or given up: how long it had waited. Absent: no time. */
  readonly passedNs?: number;
  /** Of such a request, for people: what it waited for besides its turn. Absent: nothing. */
  readonly waitedFor?: string | undefined;
  /** Batch that it ran in; 0 if it did not. */
  readonly batchSize: number;
  /** For people: why it failed on the device, or why it was rejected if its SLO is not the reason; empty otherwise. */
  readonly error: string;
  /** It was refused because its tenant sends more than it may; `predictedNs` is then the time until it may again. Absent: it was not. */
  readonly isOverLimit?: boolean | undefined;
  /** The error is that the model cannot compute the inputs. Absent: it is not. */
  readonly isOfInputs?: boolean | undefined;
}
