import type { GpuState } from '../../core/fleet-observer.js';
import { LIMIT_RATE, LIMIT_SHARE } from '../../core/tenants.js';
import type { RunSetup } from '../results.js';
import type { ACTION, REQUEST } from '../run-rows.js';

/** Limits of a tenant: its long-term rate, and its share of the GPUs under overload. */
export type TenantLimit = 'rate' | 'share';

/** Name of a limit as request tables number it; undefined if there is none. */
export function limitName(limit: number): TenantLimit | undefined {
  if (limit === LIMIT_RATE) return 'rate';
  return limit === LIMIT_SHARE ? 'share' : undefined;
}

/** Facts about one request of a run, from arrival to answer. Times in ns since the start of the run. */
export interface Flight {
  readonly request: number;
  readonly model: string;
  readonly user: number;
  /** Names of its class and its tenant; absent if the run has none. */
  readonly class?: string;
  readonly tenant?: string;
  /** Limit of its tenant that refused it; absent if none did, or if not known. */
  readonly limit?: TenantLimit;
  /** Length of its input; absent if not known. */
  readonly length?: number;
  /** The client's `traceparent`, if any. */
  readonly trace?: string;
  readonly arrivalNs: number;
  readonly sloNs: number;
  readonly deadlineNs: number;
  /** When it would be answered with a timeout unless in an action; null: never, refused, or not answered yet. */
  readonly dueNs: number | null;
  /** The controller's knowledge at admission, and again each time a lost worker returned the request. */
  readonly known: readonly Knowledge[];
  /** LOADs of its model that were in progress or sent while it waited, and its INFERs, in order. */
  readonly actions: readonly FlightAction[];
  /** Number of INFERs of other models sent, while it waited, to GPUs that held its model. */
  readonly passedBy: number;
  /** Number of later requests for its model whose INFER was sent while it waited. */
  readonly overtakenBy: number;
  /** GPUs that were gone before its answer, and GPUs of its model or INFER that were slow; absent if not logged. */
  readonly troubles?: readonly GpuTrouble[];
  /** Null if the journal ends before the answer. */
  readonly answer: FlightAnswer | null;
}

export interface FlightAnswer {
  /** Name of an outcome. */
  readonly outcome: string;
  readonly atNs: number;
  readonly latencyNs: number;
}

export interface Knowledge {
  readonly atNs: number;
  /** Number of earlier requests waiting for the model. */
  readonly queued: number;
  /** Expected time of an INFER of this request alone, and of a LOAD of its model; absent if not logged. */
  readonly inferNs: number;
  readonly loadNs?: number;
  /** Latency predicted at admission; null: not requested, or no GPU available; absent: not logged. */
  readonly predictedNs?: number | null;
  /** GPUs that hold or are loading the model. */
  readonly gpus: readonly KnownGpu[];
  /** When the first WEIGHTS lane of any GPU is free; null if there is no GPU. */
  readonly weightsFreeNs: number | null;
}

/** A GPU that was gone or slow for a while. */
export interface GpuTrouble {
  readonly gpu: number;
  readonly fromNs: number;
  /** Null if it stays so. */
  readonly untilNs: number | null;
  /** Factor by which INFERs took longer; null: it was gone. */
  readonly times: number | null;
}

export interface KnownGpu {
  readonly gpu: number;
  readonly warm: boolean;
  /** Expected time at which each lane is free; null if the GPU drains or is gone. */
  readonly execFreeNs: number | null;
  readonly weightsFreeNs: number | null;
}

export interface FlightAction {
  readonly id: number;
  readonly kind: 'LOAD' | 'INFER';
  readonly gpu: number;
  /** Kind of the GPU; absent if all are of one kind. */
  readonly gpuKind?: string;
  readonly batchSize: number;
  /** Number of its requests. */
  readonly count: number;
  /** Latest deadline among its requests; null for a LOAD. */
  readonly lastDeadlineNs: number | null;
  readonly sentNs: number;
  readonly earliestNs: number;
  /** Null if unlimited. */
  readonly latestNs: number | null;
  readonly expectedStartNs: number;
  readonly expectedDurationNs: number;
  /** Null if the journal ends before its result. */
  result: FlightResult | null;
}

interface FlightResult {
  /** Status in words; "ok" on success. */
  readonly status: string;
  readonly beginNs: number;
  readonly endNs: number;
  /** When the result reached the controller. */
  readonly handledNs: number;
}

/** Requests and actions recorded by a run, wherever they are stored. */
export interface RunRows {
  /** Visits all in order of answers, until `visit` returns false. */
  readonly requests: (visit: (request: LoggedRequest) => unknown) => void;
  /** Visits all that ended, in order of results. */
  readonly actions: (visit: (action: LoggedAction) => void) => void;
  /** In order of time; absent if all GPUs are there throughout. */
  readonly fleet?: readonly LoggedChange[];
  /** GPUs that were slow. */
  readonly slow?: readonly GpuTrouble[];
  readonly setup: Pick<Required<RunSetup>, 'gpus' | 'oneLane' | 'modelInferMs'> & Pick<RunSetup, 'kinds'>;
}

/** An answered request: the columns of `REQUEST`, and facts about its sender; below 0 or NaN: none, or not known. */
export type LoggedRequest = Readonly<Record<keyof typeof REQUEST, number>> & {
  /** Indices into the classes and tenants of the run, and length of its input. */
  readonly requestClass?: number;
  readonly tenant?: number;
  readonly length?: number;
};

/** A finished action: columns of `ACTION`. Begin and end count only if its status is 0. */
export type LoggedAction = Readonly<Record<Exclude<keyof typeof ACTION, 'count' | 'deadlineNs'>, number>> & {
  /** Length that the inputs of an INFER were padded to; 0 or absent: models have one each. */
  readonly paddedLength?: number;
};

/** A change of a GPU's state. All are off before their first. */
export interface LoggedChange {
  readonly atNs: number;
  readonly gpu: number;
  readonly state: GpuState;
}
