import { REFUSALS, type RefusalKind } from './refusal.js';

const TRANSPORTS = ['http', 'grpc'] as const;
const KINDS = Object.keys(REFUSALS) as RefusalKind[];

/** Counters for all threads of a process together: they outlive a thread that is replaced. */
export function newRefusalCounters(): SharedArrayBuffer {
  return new SharedArrayBuffer(TRANSPORTS.length * KINDS.length * BigUint64Array.BYTES_PER_ELEMENT);
}

/** Inference requests of one transport that were refused before the service was asked. */
export class RefusalCounts {
  private readonly counts: BigUint64Array;
  private readonly first: number;

  constructor(counters: SharedArrayBuffer | null, transport: (typeof TRANSPORTS)[number]) {
    this.counts = new BigUint64Array(counters ?? newRefusalCounters());
    this.first = TRANSPORTS.indexOf(transport) * KINDS.length;
  }

  add(kind: RefusalKind): void {
    Atomics.add(this.counts, this.first + KINDS.indexOf(kind), 1n);
  }
}

/** All counts at present; `reason` is the kind as metrics spell it: `not_ready`. */
export function readRefusals(counters: SharedArrayBuffer) {
  const counts = new BigUint64Array(counters);
  return TRANSPORTS.flatMap((transport, t) =>
    KINDS.map((kind, k) => ({
      transport,
      reason: kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      count: Number(Atomics.load(counts, t * KINDS.length + k)),
    })),
  );
}
