import { usableMemoryBytes } from '../../base/limits/usable.js';
import { GIB, KIB, MIB } from '../../base/units.js';
import { Refusal } from './refusal.js';

/** Most bytes of bodies and answers that may be in memory at once. */
interface BudgetLimits {
  /** Of all connections of the process together. */
  readonly totalBytes: number;
  /** Of all connections from one address. */
  readonly clientBytes: number;
  readonly connectionBytes: number;
}

/** Where one thread counts what it holds, so that all threads share one total. Plain data: it crosses threads. */
export interface BudgetSlot {
  /** One counter per thread, in KiB. */
  readonly counters: SharedArrayBuffer;
  readonly slot: number;
}

/** Counters for `threads` threads. */
export function newBudgetCounters(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT);
}

/** Forgets what a thread held. Only once the thread is gone. */
export function clearBudgetSlot({ counters, slot }: BudgetSlot): void {
  Atomics.store(new Int32Array(counters), slot, 0);
}

/** Limits that follow from the total and the largest body. */
export function budgetLimits(totalBytes: number, maxBodyBytes: number): BudgetLimits {
  return {
    totalBytes,
    clientBytes: Math.ceil(totalBytes / 2),
    connectionBytes: Math.max(Math.ceil(totalBytes / 4), 2 * maxBodyBytes),
  };
}

/** 1 GiB, or a quarter of the memory that the process may use where that is less. */
export function defaultInflightBytes(): number {
  return Math.max(64 * MIB, Math.min(GIB, Math.floor(usableMemoryBytes() / 4)));
}

/** What a connection may hold in all and still draw on the part that is kept free for small requests. */
const SMALL_BYTES = 64 * KIB;
/** That part: one of so many. Large bodies fill the rest at most, so small requests get through. */
const RESERVED_SHARE = 8;

/** Counts the memory of requests before it is taken. One per thread. */
export class Budget {
  private readonly counters: Int32Array;
  private readonly slot: number;
  private readonly clients = new Map<string, Client>();

  constructor(
    readonly limits: BudgetLimits,
    { counters, slot }: BudgetSlot = { counters: newBudgetCounters(1), slot: 0 },
  ) {
    this.counters = new Int32Array(counters);
    this.slot = slot;
  }

  /** The account of a new connection from `address`. Close it with the connection. */
  open(address: string | undefined): Account {
    const key = clientOf(address);
    let client = this.clients.get(key);
    if (client === undefined) {
      client = { key, bytes: 0, connections: 0 };
      this.clients.set(key, client);
    }
    client.connections++;
    return new Account(this, client);
  }

  /** KiB that all threads hold together. */
  usedKib(): number {
    let sum = 0;
    for (let i = 0; i < this.counters.length; i++) sum += Atomics.load(this.counters, i);
    return sum;
  }

  /** For accounts only. */
  add(kib: number): void {
    Atomics.add(this.counters, this.slot, kib);
  }

  /** For accounts only: drops a client that has nothing left here. */
  forget({ key, connections, bytes }: Client): void {
    if (connections === 0 && bytes === 0) this.clients.delete(key);
  }
}

interface Client {
  readonly key: string;
  bytes: number;
  connections: number;
}

/** What one connection holds. */
export class Account {
  /** Bytes, in whole KiB. */
  private heldBytes = 0;
  private isOpen = true;

  constructor(
    private readonly budget: Budget,
    private readonly client: Client,
  ) {}

  /** Who it belongs to, for queues that are fair between clients. */
  get clientKey(): string {
    return this.client.key;
  }

  /**
   * Takes `bytes` before they are allocated; null, or why not. On success `giveBack` the same number later.
   */
  take(bytes: number): Refusal | null {
    const { budget, client } = this;
    const taken = inKib(bytes);
    const heldBytes = this.heldBytes + taken;
    const { totalBytes, clientBytes, connectionBytes } = budget.limits;
    const share = heldBytes <= SMALL_BYTES ? 1 : 1 - 1 / RESERVED_SHARE;
    if (heldBytes > connectionBytes) return overBudget('this connection holds');
    if (client.bytes + taken > clientBytes * share) return overBudget('requests from this address hold');
    budget.add(taken / KIB);
    if (budget.usedKib() * KIB > totalBytes * share) {
      budget.add(-taken / KIB);
      return overBudget('requests under way hold');
    }
    this.heldBytes = heldBytes;
    client.bytes += taken;
    return null;
  }

  giveBack(bytes: number): void {
    const given = inKib(bytes);
    this.heldBytes -= given;
    this.client.bytes -= given;
    this.budget.add(-given / KIB);
    if (!this.isOpen) this.budget.forget(this.client);
  }

  /** The connection is gone. What it still holds, such as inputs of a model that runs, is given back later. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.client.connections--;
    this.budget.forget(this.client);
  }
}

function overBudget(holds: string): Refusal {
  return new Refusal('overBudget', `${holds} as much memory as is allowed: try again later`);
}

/** Budgets count whole KiB. */
export function inKib(bytes: number): number {
  return Math.ceil(bytes / KIB) * KIB;
}

/** One client usually has a whole /64 of IPv6 addresses. */
function clientOf(address = ''): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1];
  const [head, tail] = address.split('::');
  const groups = head.split(':');
  if (tail !== undefined) while (groups.length < 4) groups.push('0');
  return groups.slice(0, 4).join(':');
}
