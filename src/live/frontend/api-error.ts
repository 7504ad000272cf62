import { ServiceError } from '../service.js';

/**
 * Why a frontend turns a client away, with the status of either transport. HTTP: RFC 9110 and 6585; gRPC: the
 * codes of its status.proto.
 */
export const API_ERRORS = {
  /** The request itself is wrong. */
  invalid: { http: 400, grpc: 3 },
  unauthenticated: { http: 401, grpc: 16 },
  /** A web page of another origin asks. */
  foreignOrigin: { http: 403, grpc: 7 },
  /** No such model, version or path. */
  unknown: { http: 404, grpc: 5 },
  /** The path is there, the method is not. */
  needsGet: { http: 405, grpc: 12 },
  needsPost: { http: 405, grpc: 12 },
  /** It needs a restart of the server. */
  needsRestart: { http: 409, grpc: 9 },
  /** The client sends too slowly. */
  tooSlow: { http: 408, grpc: 4 },
  tooLarge: { http: 413, grpc: 8 },
  headersTooLarge: { http: 431, grpc: 8 },
  encoding: { http: 415, grpc: 12 },
  /** A method that this server does not have. */
  unimplemented: { http: 501, grpc: 12 },
  /** The SLO cannot be met. */
  rejected: { http: 429, grpc: 8 },
  /** Its tenant exceeds its limit. */
  overLimit: { http: 429, grpc: 8 },
  /** The SLO could not be met any more. */
  timeout: { http: 504, grpc: 4 },
  /** Its client has gone. HTTP has no code for that; proxies log this one. */
  cancelled: { http: 499, grpc: 1 },
  failed: { http: 500, grpc: 13 },
  /** Requests in flight use all the memory allowed, or an address has too many. */
  overBudget: { http: 503, grpc: 8 },
  /** The threads that decode large bodies have too many waiting. */
  tooBusy: { http: 503, grpc: 8 },
  /** The limit on connections is reached. */
  tooManyConnections: { http: 503, grpc: 14 },
  /** Another controller drives the workers. */
  standby: { http: 503, grpc: 14 },
  /** Starting, draining, or without that model at present. */
  notReady: { http: 503, grpc: 14 },
} as const;
export type ApiErrorKind = keyof typeof API_ERRORS;

/** A request that is answered with an error. The message is for the client, one line and complete. */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  /**
   * Latency that was to be expected of a request that was rejected or given up, ms; of one over its tenant's limit, the time until
   * another may come, 0 if that is not known; null: there is no prediction.
   */
  readonly predictedMs: number | null;

  constructor(kind: ApiErrorKind, message: string, predictedMs: number | null = null) {
    super(message);
    this.name = 'ApiError';
    this.kind = kind;
    this.predictedMs = predictedMs;
  }
}

/** Error of a handler as the client sees it. Anything but an `ApiError` is a bug of the server, never a crash. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof ServiceError) return new ApiError(thrown.kind, thrown.message);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError('failed', `internal error: ${reason}`);
}

export function cancelled(): ApiError {
  return new ApiError(
    'cancelled',
    'the client ended its side of the connection before the answer; keep it open until then',
  );
}

/** `why`: the `notReady` of a service's state. */
export function serverNotReady(why: string): string {
  return `the server is not ready: ${why}`;
}

const LONGEST_SHOWN = 80;

/** A value of the client's inside a message: as JSON, and never long. */
export function shown(value: unknown): string {
  const text = textOf(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}

function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  try {
    // Numbers that JSON has no word for; see `parseJson`.
    return JSON.stringify(value, plain)?.replace(/"\\u0000(-?\w+)"/g, '$1') ?? String(value);
  } catch {
    // The call stack is not deep enough for it.
    return 'a value with too many levels to show';
  }
}

/** JSON has no words for some numbers. */
function plain(_key: string, value: unknown): unknown {
  const isPlain = typeof value !== 'bigint' && (typeof value !== 'number' || Number.isFinite(value));
  return isPlain ? value : String(value);
}

const TRANSPORTS = ['http', 'grpc'] as const;
const KINDS = Object.keys(API_ERRORS) as ApiErrorKind[];

/**
 * Counters for all threads of a process together: they outlive a thread that is replaced. `models`: largest label of a model
 * of its own; the others share the next one, and 0 is for no known model.
 */
export function newApiErrorCounters(models = 64): SharedArrayBuffer {
  const count = TRANSPORTS.length * KINDS.length * (models + 2);
  return new SharedArrayBuffer(count * BigUint64Array.BYTES_PER_ELEMENT);
}

function labelsIn(counts: BigUint64Array): number {
  return counts.length / (TRANSPORTS.length * KINDS.length);
}

/** Inference requests of one transport that were refused before the service was asked. */
export class ApiErrorCounts {
  private readonly counts: BigUint64Array;
  private readonly first: number;

  constructor(counters: SharedArrayBuffer | null, transport: (typeof TRANSPORTS)[number]) {
    this.counts = new BigUint64Array(counters ?? newApiErrorCounters());
    this.first = TRANSPORTS.indexOf(transport) * KINDS.length;
  }

  /** `label`: of the model that is asked for, if it is known to the service. */
  add(kind: ApiErrorKind, label = 0): void {
    const labels = labelsIn(this.counts);
    const known = label < labels ? label : 0;
    Atomics.add(this.counts, (this.first + KINDS.indexOf(kind)) * labels + known, 1n);
  }
}

/** All counts at present; `reason` is the kind as metrics spell it: `not_ready`. Of models only those above 0. */
export function readApiErrors(counters: SharedArrayBuffer) {
  const counts = new BigUint64Array(counters);
  const labels = labelsIn(counts);
  return TRANSPORTS.flatMap((transport, t) =>
    KINDS.flatMap((kind, k) => {
      const reason = kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const from = (t * KINDS.length + k) * labels;
      return Array.from({ length: labels }, (_, label) => {
        const count = Number(Atomics.load(counts, from + label));
        return { transport, reason, label, count };
      }).filter(({ label, count }) => label === 0 || count > 0);
    }),
  );
}
