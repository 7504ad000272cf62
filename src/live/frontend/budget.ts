import { KIB } from '../../base/units.js';
import { clientOf } from '../wire/address.js';
import { ApiError, cancelled } from './api-error.js';
import type { Call } from './call.js';
import type { Limits } from './limits.js';
import {
  type BudgetSlot,
  CONNECTIONS,
  KIB_HELD,
  newBudgetCounters,
  REQUESTS,
  SharedCounts,
} from './shared-counts.js';

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

/** Counts what clients take before they get it. One per thread. */
export class Budget {
  readonly counts: SharedCounts;

  constructor(
    readonly limits: BudgetLimits,
    slot: BudgetSlot = { counters: newBudgetCounters(1), slot: 0 },
  ) {
    this.counts = new SharedCounts(slot);
  }

  /** The account of a connection from `address`. */
  open(address: string | undefined): Account {
    return new Account(this, clientOf(address));
  }

  /** KiB that all threads hold together. */
  usedKib(): number {
    return this.counts.ofAll(KIB_HELD);
  }
}

/** Account of one connection: memory it holds and requests it has under way. */
export class Account {
  /** Bytes, in whole KiB. */
  private heldBytes = 0;
  private readonly bucket: number;
  /** Calls that the service has not answered. */
  private readonly calls = new Set<Call>();
  private isGone = false;

  constructor(
    private readonly budget: Budget,
    /** Who it belongs to, for queues that are fair between clients. */
    readonly clientKey: string,
  ) {
    this.bucket = budget.counts.bucketOf(clientKey);
  }

  /**
   * Takes `bytes` before they are allocated; null, or why not. On success `giveBack` the same number later.
   */
  take(bytes: number): ApiError | null {
    const { bucket } = this;
    const { counts, limits } = this.budget;
    const taken = inKib(bytes);
    const heldBytes = this.heldBytes + taken;
    const { totalBytes, clientBytes, connectionBytes } = limits;
    const share = heldBytes <= SMALL_BYTES ? 1 : 1 - 1 / RESERVED_SHARE;
    if (heldBytes > connectionBytes) return overBudget('this connection holds');
    const kib = taken / KIB;
    counts.add(KIB_HELD, bucket, kib);
    const isTooMuch = counts.ofClient(KIB_HELD, bucket) * KIB > clientBytes * share;
    if (isTooMuch || counts.ofAll(KIB_HELD) * KIB > totalBytes * share) {
      counts.add(KIB_HELD, bucket, -kib);
      return overBudget(isTooMuch ? 'requests from this address hold' : 'requests under way hold');
    }
    this.heldBytes = heldBytes;
    return null;
  }

  /** Takes `toBytes` instead of `fromBytes`, in whole KiB each; null, or why not. */
  change(fromBytes: number, toBytes: number): ApiError | null {
    const more = inKib(toBytes) - inKib(fromBytes);
    if (more > 0) return this.take(more);
    if (more < 0) this.giveBack(-more);
    return null;
  }

  giveBack(bytes: number): void {
    const given = inKib(bytes);
    this.heldBytes -= given;
    this.budget.counts.add(KIB_HELD, this.bucket, -given / KIB);
  }

  /** A call goes to the service; null, or why it may not. On success `answered` later. */
  ask(call: Call): ApiError | null {
    if (this.isGone) return cancelled();
    const { bucket } = this;
    const { count: requests } = call;
    const { counts, limits } = this.budget;
    counts.add(REQUESTS, bucket, requests);
    if (counts.ofClient(REQUESTS, bucket) <= limits.clientRequests) {
      this.calls.add(call);
      return null;
    }
    counts.add(REQUESTS, bucket, -requests);
    const most = `requests from this address under way are at most ${limits.clientRequests}`;
    return new ApiError('overBudget', `${most}: wait for answers, or try again later`);
  }

  /** The service has answered, whether or not the client is still there. */
  answered(call: Call): void {
    this.calls.delete(call);
    this.budget.counts.add(REQUESTS, this.bucket, -call.count);
  }

  /** The client has gone, and waits for nothing any more. */
  cancel(): void {
    this.isGone = true;
    for (const call of this.calls) call.cancel();
  }

  /** The connection comes in; null, or why it may not. On success `leave` later. */
  enter(): ApiError | null {
    const { bucket } = this;
    const { counts, limits } = this.budget;
    const { connections, clientConnections } = limits;
    counts.add(CONNECTIONS, bucket, 1);
    const isTooMany = counts.ofClient(CONNECTIONS, bucket) > clientConnections;
    if (!isTooMany && counts.ofAll(CONNECTIONS) <= connections) return null;
    counts.add(CONNECTIONS, bucket, -1);
    const most = isTooMany
      ? `${clientConnections} connections from one address`
      : `${connections} connections`;
    return new ApiError('tooManyConnections', `this server takes at most ${most}: try again later`);
  }

  leave(): void {
    this.budget.counts.add(CONNECTIONS, this.bucket, -1);
  }
}

function overBudget(holds: string): ApiError {
  return new ApiError('overBudget', `${holds} as much memory as is allowed: try again later`);
}

/** Budgets count whole KiB. */
export function inKib(bytes: number): number {
  return Math.ceil(bytes / KIB) * KIB;
}
