import { randomInt } from 'node:crypto';

/** Counters that frontends share, for all clients together and for each. */
export const KIB_HELD = 0;
export const CONNECTIONS = 1;
export const REQUESTS = 2;
type Counted = typeof KIB_HELD | typeof CONNECTIONS | typeof REQUESTS;

/** Where one thread counts what it holds, so that all threads share one total. Plain data: it crosses threads. */
export interface BudgetSlot {
  readonly counters: SharedArrayBuffer;
  readonly slot: number;
}

const KINDS = 3;
/**
 * Clients are told apart by so many hashes of their addresses. Two with the same one share their quotas; which these are
 * is different in each process.
 */
const BUCKETS = 4096;
/** Counters of one thread: the totals, then those of clients. */
const ROW = KINDS * (1 + BUCKETS);

/** Counters for `threads` threads. */
export function newBudgetCounters(threads: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer((threads * ROW + 1) * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(buffer)[threads * ROW] = randomInt(2 ** 31);
  return buffer;
}

/** Forgets what a thread held. Only once the thread is gone. */
export function clearBudgetSlot({ counters, slot }: BudgetSlot): void {
  new Int32Array(counters).fill(0, slot * ROW, (slot + 1) * ROW);
}

/** Counts of one thread, which sees those of all. */
export class SharedCounts {
  private readonly counters: Int32Array;
  private readonly own: number;
  private readonly seed: number;
  private readonly end: number;

  constructor({ counters, slot }: BudgetSlot) {
    this.counters = new Int32Array(counters);
    this.own = slot * ROW;
    this.end = this.counters.length - 1;
    this.seed = this.counters[this.end];
  }

  /** Where a client is counted. */
  bucketOf(client: string): number {
    let hash = this.seed;
    for (let i = 0; i < client.length; i++) hash = Math.imul(hash ^ client.charCodeAt(i), 0x01000193);
    hash ^= hash >>> 15;
    return (Math.imul(hash, 0x2c1b3c6d) >>> 16) % BUCKETS;
  }

  add(what: Counted, bucket: number, count: number): void {
    Atomics.add(this.counters, this.own + what, count);
    Atomics.add(this.counters, this.own + placeOf(what, bucket), count);
  }

  ofAll(what: Counted): number {
    return this.sum(what);
  }

  ofClient(what: Counted, bucket: number): number {
    return this.sum(placeOf(what, bucket));
  }

  private sum(place: number): number {
    let sum = 0;
    for (let i = place; i < this.end; i += ROW) sum += Atomics.load(this.counters, i);
    return sum;
  }
}

function placeOf(what: Counted, bucket: number): number {
  return KINDS + what * BUCKETS + bucket;
}
