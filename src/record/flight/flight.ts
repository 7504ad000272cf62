import { LIMIT_RATE, LIMIT_SHARE } from '../../core/tenants.js';

/** What a tenant may send: so much in the long run, and its part of the GPUs under overload. */
export type TenantLimit = 'rate' | 'share';

/** The name of a limit as request tables number it; undefined: none. */
export function limitName(limit: number): TenantLimit | undefined {
  if (limit === LIMIT_RATE) return 'rate';
  return limit === LIMIT_SHARE ? 'share' : undefined;
}

/** What is known of one request of a run, from its arrival to its answer. Times in ns since the start of the run. */
export interface Flight {
  readonly request: number;
  readonly model: string;
  readonly user: number;
  /** Names of its class and its tenant; absent: the run has none. */
  readonly class?: string;
  readonly tenant?: string;
  /** Which limit of its tenant refused it; absent: none did, or it is not known. */
  readonly limit?: TenantLimit;
  /** Length of its input; absent: it is not known. */
  readonly length?: number;
  /** The client's `traceparent`, if it sent one. */
  readonly trace?: string;
  readonly arrivalNs: number;
  readonly sloNs: number;
  readonly deadlineNs: number;
  /** When it was to be answered `timeout` unless in an action by then; null: never, refused, or not answered yet. */
  readonly dueNs: number | null;
  /** What the controller knew when it took the request in; again each time that a lost worker gave it back. */
  readonly known: readonly Knowledge[];
  /** LOADs of its model that were under way or sent while it waited, and the INFERs it was put into, in order. */
  readonly actions: readonly FlightAction[];
  /** INFERs of other models that were sent, while it waited, to GPUs that held its model. */
  readonly passedBy: number;
  /** Null: the journal ends before the answer. */
  readonly answer: FlightAnswer | null;
}

export interface FlightAnswer {
  /** One of the names of outcomes. */
  readonly outcome: string;
  readonly atNs: number;
  readonly latencyNs: number;
}

export interface Knowledge {
  readonly atNs: number;
  /** Earlier requests for the model that waited. */
  readonly queued: number;
  /** Expected time of an INFER of this request alone, and of a LOAD of its model; absent: that was not logged. */
  readonly inferNs: number;
  readonly loadNs?: number;
  /** Latency that admission expected; null: it was not asked, or no GPU was there; absent: that was not logged. */
  readonly predictedNs?: number | null;
  /** GPUs that hold the model or are loading it. */
  readonly gpus: readonly KnownGpu[];
  /** When the WEIGHTS lane of some GPU is free first; null: no GPU is there. */
  readonly weightsFreeNs: number | null;
}

export interface KnownGpu {
  readonly gpu: number;
  readonly warm: boolean;
  /** When each lane should be free for another action; null: the GPU is gone. */
  readonly execFreeNs: number | null;
  readonly weightsFreeNs: number | null;
}

export interface FlightAction {
  readonly id: number;
  readonly kind: 'LOAD' | 'INFER';
  readonly gpu: number;
  /** Kind of the GPU; absent: all are of one kind. */
  readonly gpuKind?: string;
  readonly batchSize: number;
  /** Requests in it. */
  readonly count: number;
  readonly sentNs: number;
  readonly earliestNs: number;
  /** Null: no limit. */
  readonly latestNs: number | null;
  readonly expectedStartNs: number;
  readonly expectedDurationNs: number;
  /** Null: the journal ends before its result. */
  result: FlightResult | null;
}

export interface FlightResult {
  /** Status in words, "ok" if it went well. */
  readonly status: string;
  readonly beginNs: number;
  readonly endNs: number;
  /** When the result reached the controller. */
  readonly handledNs: number;
}
