import { createHash, randomInt } from 'node:crypto';
import { KIB } from '../../base/units.js';
import { clientOf } from '../wire/address.js';
import { ApiError } from './api-error.js';
import type { Limits } from './limits.js';

/** Limits on what clients hold and have under way, over all frontends of the process. */
interface BudgetLimits {
  /** Bodies and answers in memory. */
  readonly totalBytes: number;
  /** Part of them for one address. */
  readonly clientBytes: number;
  readonly connectionBytes: number;
  readonly connections: number;
  /** Part of them from one address. */
  readonly clientConnections: number;
  /** Requests of one address that the service has not answered. */
  readonly clientRequests: number;
}

export function budgetLimits(
  options: Pick<Limits, 'maxInflightBytes' | 'maxBodyBytes' | 'maxConnections' | 'maxClientRequests'>,
): BudgetLimits {
  const { maxInflightBytes, maxBodyBytes, maxConnections, maxClientRequests } = options;
  return {
    totalBytes: maxInflightBytes,
    clientBytes: Math.ceil(maxInflightBytes / 2),
    connectionBytes: Math.max(Math.ceil(maxInflightBytes / 4), 2 * maxBodyBytes),
    connections: maxConnections,
    clientConnections: Math.ceil(maxConnections / 2),
    clientRequests: maxClientRequests ?? Number.POSITIVE_INFINITY,
  };
}

/** Memory up to which a connection may draw on the part that is kept free for small requests. */
const SMALL_BYTES = 64 * KIB;
/** That part: one of so many. Large bodies fill the rest at most, so small requests get through. */
const RESERVED_SHARE = 8;

/** Counts what clients take before they get it. One per thread, which sees what all have counted. */
export class Budget {
  private readonly counters: Int32Array;
  private readonly own: number;

  constructor(
    readonly limits: BudgetLimits,
    { counters, slot }: BudgetSlot = { counters: newBudgetCounters(1), slot: 0 },
  ) {
    this.counters = new Int32Array(counters);
    this.own = slot * ROW;
  }

  /** The account of a connection from `address`. */
  open(address: string | undefined): Account {
    return new Account(this, clientOf(address));
  }

  /** Where a client is counted. */
  bucketOf(client: string): number {
    const seed = this.counters[this.counters.length - 1];
    return createHash('sha256').update(`${seed} ${client}`).digest().readUInt32LE() % BUCKETS;
  }

  add(what: Counted, bucket: number, count: number): void {
    Atomics.add(this.counters, this.own + what, count);
    Atomics.add(this.counters, this.own + placeOf(what, bucket), count);
  }

  /** Count of one client, by its bucket; without it that of all clients. */
  count(what: Counted, bucket?: number): number {
    let sum = 0;
    const first = bucket === undefined ? what : placeOf(what, bucket);
    for (let i = first; i < this.counters.length - 1; i += ROW) sum += Atomics.load(this.counters, i);
    return sum;
  }
}

/** Account of one connection. What it takes beyond a limit throws an `ApiError`, and is not taken. */
export class Account {
  /** KiB. */
  private held = 0;
  private readonly bucket: number;

  constructor(
    private readonly budget: Budget,
    /** The address that it belongs to, as quotas tell them apart. */
    readonly client: string,
  ) {
    this.bucket = budget.bucketOf(client);
  }

  /** A connection comes in; `leave` later. */
  enter(): void {
    const { connections, clientConnections } = this.budget.limits;
    this.count(CONNECTIONS, 1, clientConnections, connections, (ofClient) => {
      const most = ofClient
        ? `${clientConnections} connections from one address`
        : `${connections} connections`;
      return new ApiError('tooManyConnections', `this server takes at most ${most}: try again later`);
    });
  }

  leave(): void {
    this.budget.add(CONNECTIONS, this.bucket, -1);
  }

  /** So many requests go to the service; `answered` later, also for a client that has gone. */
  ask(requests: number): void {
    const { clientRequests } = this.budget.limits;
    this.count(REQUESTS, requests, clientRequests, Number.POSITIVE_INFINITY, () => {
      const most = `requests from this address under way are at most ${clientRequests}`;
      return new ApiError('overBudget', `${most}: wait for answers, or try again later`);
    });
  }

  answered(requests: number): void {
    this.budget.add(REQUESTS, this.bucket, -requests);
  }

  /** Memory for one request or message; nothing yet. */
  hold(): Held {
    return new Held(this);
  }

  /** Takes so many KiB, or gives them back. */
  take(kib: number): void {
    const { limits } = this.budget;
    const held = this.held + kib;
    if (kib < 0) this.budget.add(KIB_HELD, this.bucket, kib);
    else {
      if (held * KIB > limits.connectionBytes) throw overBudget('this connection holds');
      const share = (held * KIB <= SMALL_BYTES ? 1 : 1 - 1 / RESERVED_SHARE) / KIB;
      this.count(KIB_HELD, kib, limits.clientBytes * share, limits.totalBytes * share, (ofClient) =>
        overBudget(ofClient ? 'requests from this address hold' : 'requests under way hold'),
      );
    }
    this.held = held;
  }

  private count(
    what: Counted,
    count: number,
    clientLimit: number,
    limit: number,
    refusal: (ofClient: boolean) => ApiError,
  ): void {
    const { budget, bucket } = this;
    budget.add(what, bucket, count);
    const isTooMuch = budget.count(what, bucket) > clientLimit;
    if (!isTooMuch && budget.count(what) <= limit) return;
    budget.add(what, bucket, -count);
    throw refusal(isTooMuch);
  }
}

function overBudget(holds: string): ApiError {
  return new ApiError('overBudget', `${holds} as much memory as is allowed: try again later`);
}

/** Memory that is held for one thing, taken from the account of its connection. */
export class Held {
  private kib = 0;

  constructor(private readonly account: Account) {}

  /** Holds so many bytes, in whole KiB, instead of what it held. Throws an `ApiError`, and changes nothing then. */
  set(bytes: number): void {
    const kib = Math.ceil(bytes / KIB);
    if (kib !== this.kib) this.account.take(kib - this.kib);
    this.kib = kib;
  }
}

/** Counters that frontends share, for all clients together and for each. */
const KIB_HELD = 0;
const CONNECTIONS = 1;
const REQUESTS = 2;
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

function placeOf(what: Counted, bucket: number): number {
  return KINDS + what * BUCKETS + bucket;
}
