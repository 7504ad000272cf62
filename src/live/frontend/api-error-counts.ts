import { API_ERRORS, type ApiErrorKind } from './api-error.js';

const TRANSPORTS = ['http', 'grpc'] as const;
const KINDS = Object.keys(API_ERRORS) as ApiErrorKind[];
/** Labels of models, from 1 on; what is of no known model is counted at 0. */
const LABELS = 64;

/** Counters for all threads of a process together: they outlive a thread that is replaced. */
export function newApiErrorCounters(): SharedArrayBuffer {
  const count = TRANSPORTS.length * KINDS.length * LABELS;
  return new SharedArrayBuffer(count * BigUint64Array.BYTES_PER_ELEMENT);
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
    const known = label < LABELS ? label : 0;
    Atomics.add(this.counts, (this.first + KINDS.indexOf(kind)) * LABELS + known, 1n);
  }
}

/** All counts at present; `reason` is the kind as metrics spell it: `not_ready`. Of models only those above 0. */
export function readApiErrors(counters: SharedArrayBuffer) {
  const counts = new BigUint64Array(counters);
  return TRANSPORTS.flatMap((transport, t) =>
    KINDS.flatMap((kind, k) => {
      const reason = kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const from = (t * KINDS.length + k) * LABELS;
      return Array.from({ length: LABELS }, (_, label) => {
        const count = Number(Atomics.load(counts, from + label));
        return { transport, reason, label, count };
      }).filter(({ label, count }) => label === 0 || count > 0);
    }),
  );
}
