import { createHash, randomInt } from 'node:crypto';
import { usableMemoryBytes } from '../../base/limits/usable.js';
import { GIB, KIB, MIB } from '../../base/units.js';
import { clientOf } from '../wire/address.js';
import { ApiError } from './api-error.js';

/** Configurable limits of a server. Requests beyond one are refused before work is done for them. */
export interface Limits {
  /** Largest batch of one call, which is split into as many requests. */
  readonly maxBatch: number;
  /** Largest body or message, also when decompressed: 413, RESOURCE_EXHAUSTED. */
  readonly maxBodyBytes: number;
  /** Largest JSON in a body: 413. */
  readonly maxJsonBytes: number;
  /** Most memory of bodies and answers under way, of all frontends of the process together: 503. */
  readonly maxInflightBytes: number;
  /** Most connections, of all frontends of the process together: 503. Half of them may come from one address. */
  readonly maxConnections: number;
  /** Most requests from one address that the service has not answered: 503; null: no limit. */
  readonly maxClientRequests: number | null;
  /** Time for the headers of a request: 408. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request, with its body: 408, DEADLINE_EXCEEDED; and to read a response of gRPC: the connection is closed. */
  readonly requestTimeoutMs: number;
  /** Time without progress of a connection between two requests, or with an answer that is not read: it is closed. */
  readonly idleTimeoutMs: number;
  /** Time for a TLS handshake: the connection is closed. */
  readonly handshakeTimeoutMs: number;
}

/** Fewer than most systems let a process open. */
export const DEFAULT_CONNECTIONS = 10_000;
/** More than honest clients of one address have under way: the requests of a second or so at a high rate. */
export const DEFAULT_CLIENT_REQUESTS = 4096;

export function defaultLimits(): Limits {
  return {
    maxBatch: 256,
    maxBodyBytes: 64 * MIB,
    maxJsonBytes: 4 * MIB,
    maxInflightBytes: defaultInflightBytes(),
    maxConnections: DEFAULT_CONNECTIONS,
    maxClientRequests: DEFAULT_CLIENT_REQUESTS,
    headersTimeoutMs: 30_000,
    requestTimeoutMs: 300_000,
    idleTimeoutMs: 75_000,
    handshakeTimeoutMs: 10_000,
  };
}

/** 1 GiB, or a quarter of the memory that the process may use where that is less. */
export function defaultInflightBytes(): number {
  return Math.max(64 * MIB, Math.min(GIB, Math.floor(usableMemoryBytes() / 4)));
}

/** Largest answer: 413. */
export function mostAnswerBytes({ maxBodyBytes }: Pick<Limits, 'maxBodyBytes'>): number {
  return Math.max(64 * MIB, maxBodyBytes);
}

/** Largest headers: 431. */
export const MOST_HEADER_BYTES = 16 * KIB;
/** Largest body or message of a request without tensors, and the most of others besides the elements: 413, RESOURCE_EXHAUSTED. */
export const MOST_CONTROL_BYTES = 64 * KIB;
/** Inputs and outputs that a message names: RESOURCE_EXHAUSTED. */
export const MOST_TENSORS = 4096;
/** Requests of one HTTP connection under way, which is closed when it sends more. */
export const MOST_PIPELINED = 16;
/** Calls of one gRPC connection at a time. */
export const MOST_CALLS = 128;
/** Requests of one gRPC stream under way; the client's next ones wait. */
export const MOST_STREAMED = 16;
/** Charge for each chunk of a body beyond its bytes, for the memory and time that collecting it takes. */
export const PIECE_BYTES = KIB;
/** JSON, and bodies in all, that are read or written at once; larger ones in a codec thread, and so is all that is compressed. */
export const INLINE_JSON_BYTES = 64 * KIB;
export const INLINE_BODY_BYTES = MIB;
/** Time after which an idle codec thread ends and gives its memory back. */
export const CODEC_IDLE_MS = 5000;
/** Time until a body is decoded or encoded: 413; with a wait for a thread: 503. */
export const CODEC_TIMEOUT_MS = 15_000;
/** Bodies that wait to be decoded or encoded, for each thread of the frontend: 503. */
export const MOST_CODEC_QUEUE = 256;
/** Elements of one output that are sorted for a classification: 413. */
export const MOST_CLASSIFIED = 2 ** 18;
/** Time that a graceful close waits for pending requests. */
export const GRACE_MS = 10_000;

/** Quotas of clients on memory, requests and connections, over all frontends of the process. */
type SharedLimits = Pick<
  Limits,
  'maxInflightBytes' | 'maxBodyBytes' | 'maxConnections' | 'maxClientRequests'
>;

/** Memory of a connection up to which it may use the part reserved for small requests. */
const SMALL_BYTES = 64 * KIB;
/** Fraction of the budget (1 / this) that large bodies leave to small requests. */
const RESERVED_SHARE = 8;

/** Counts what clients take, before they get it. One per thread; each sees the totals of all. */
export class Budget {
  private readonly counters: Int32Array;
  private readonly own: number;

  constructor(
    readonly limits: SharedLimits,
    { counters, slot }: BudgetSlot = { counters: newBudgetCounters(1), slot: 0 },
  ) {
    this.counters = new Int32Array(counters);
    this.own = slot * ROW;
  }

  /** The account of a connection from `address`. */
  open(address: string | undefined): Account {
    return new Account(this, clientOf(address));
  }

  /** Bucket in which a client is counted. */
  bucketOf(client: string): number {
    const seed = this.counters[this.counters.length - 1];
    return createHash('sha256').update(`${seed} ${client}`).digest().readUInt32LE() % BUCKETS;
  }

  add(what: Counted, bucket: number, count: number): void {
    Atomics.add(this.counters, this.own + what, count);
    Atomics.add(this.counters, this.own + placeOf(what, bucket), count);
  }

  /** Count of one client, by its bucket, or of all clients. */
  count(what: Counted, bucket?: number): number {
    let sum = 0;
    const first = bucket === undefined ? what : placeOf(what, bucket);
    for (let i = first; i < this.counters.length - 1; i += ROW) sum += Atomics.load(this.counters, i);
    return sum;
  }
}

/** Account of one connection. Taking more than a limit throws an `ApiError` and takes nothing. */
export class Account {
  /** KiB. */
  private held = 0;
  private readonly bucket: number;

  constructor(
    private readonly budget: Budget,
    /** Its address, as distinguished by quotas. */
    readonly client: string,
  ) {
    this.bucket = budget.bucketOf(client);
  }

  /** Admits a connection; call `leave` later. False: there are too many. */
  enter(): boolean {
    const { maxConnections } = this.budget.limits;
    return this.exceeds(CONNECTIONS, 1, Math.ceil(maxConnections / 2), maxConnections) === null;
  }

  leave(): void {
    this.budget.add(CONNECTIONS, this.bucket, -1);
  }

  /** Counts requests sent to the service; call `answered` later, even if the client has gone. */
  ask(requests: number): void {
    const limit = this.budget.limits.maxClientRequests ?? Number.POSITIVE_INFINITY;
    if (this.exceeds(REQUESTS, requests, limit, Number.POSITIVE_INFINITY) === null) return;
    const most = `requests from this address under way are at most ${limit}`;
    throw new ApiError('overBudget', `${most}: wait for answers, or try again later`);
  }

  answered(requests: number): void {
    this.budget.add(REQUESTS, this.bucket, -requests);
  }

  /** Memory for one request or message; nothing yet. */
  hold(): Held {
    return new Held(this);
  }

  /** Takes KiB, or gives them back. */
  take(kib: number): void {
    const { maxInflightBytes, maxBodyBytes } = this.budget.limits;
    const held = this.held + kib;
    if (kib < 0) this.budget.add(KIB_HELD, this.bucket, kib);
    else {
      const share = held * KIB <= SMALL_BYTES ? 1 : 1 - 1 / RESERVED_SHARE;
      const limit = (maxInflightBytes * share) / KIB;
      // The largest body and its answer fit.
      const isTooMuch = held * KIB > Math.max(maxInflightBytes / 4, 2 * maxBodyBytes);
      const who = isTooMuch ? 'this connection holds' : this.exceeds(KIB_HELD, kib, limit / 2, limit);
      if (who !== null)
        throw new ApiError('overBudget', `${who} as much memory as is allowed: try again later`);
    }
    this.held = held;
  }

  /** Counts more of one kind; beyond a limit nothing, and returns who holds so much. */
  private exceeds(what: Counted, count: number, clientLimit: number, limit: number): string | null {
    const { budget, bucket } = this;
    budget.add(what, bucket, count);
    const ofClient = budget.count(what, bucket) > clientLimit;
    if (!ofClient && budget.count(what) <= limit) return null;
    budget.add(what, bucket, -count);
    return ofClient ? 'requests from this address hold' : 'requests under way hold';
  }
}

/** Memory that is held for one thing, taken from the account of its connection. */
export class Held {
  bytes = 0;

  constructor(private readonly account: Account) {}

  /** Changes the bytes held to this number, in whole KiB. Throws an `ApiError` and then changes nothing. */
  set(bytes: number): void {
    const kib = Math.ceil(bytes / KIB) - Math.ceil(this.bytes / KIB);
    if (kib !== 0) this.account.take(kib);
    this.bytes = bytes;
  }
}

/** Counters that frontends share, for all clients together and for each. */
const KIB_HELD = 0;
const CONNECTIONS = 1;
const REQUESTS = 2;
type Counted = typeof KIB_HELD | typeof CONNECTIONS | typeof REQUESTS;

/** Counters of one thread, which add up to a total over all threads. Plain data: it crosses threads. */
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

/** Memory that a thread holds for requests and answers. */
export function heldBytes({ counters, slot }: BudgetSlot): number {
  return KIB * Atomics.load(new Int32Array(counters), slot * ROW + KIB_HELD);
}

/** Forgets what a thread held. Only once the thread is gone. */
export function clearBudgetSlot({ counters, slot }: BudgetSlot): void {
  new Int32Array(counters).fill(0, slot * ROW, (slot + 1) * ROW);
}

function placeOf(what: Counted, bucket: number): number {
  return KINDS + what * BUCKETS + bucket;
}
