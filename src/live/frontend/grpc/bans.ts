import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { Refusal } from '../refusal.js';

/** Floods of one client, within `WITHIN_MS`, for which it is not let in. One may be that of a client behind a proxy. */
const FLOODS = 3;
const WITHIN_MS = 10_000;
/** How long it is not let in then. */
const BAN_MS = 10_000;

/**
 * Clients of which connections were closed for floods. Without this they would open the next one at once, and each lets
 * them do as much again.
 */
export class Bans {
  private readonly clients = new Map<string, Floods>();

  /** A connection of `client` was closed for a flood. Times are those of `performance.now()`. */
  add(client: string, nowMs: number): void {
    const floods = this.clients.get(client) ?? { atMs: [], endMs: nowMs };
    this.clients.set(client, floods);
    floods.atMs.push(nowMs);
    if (floods.atMs.length > FLOODS) floods.atMs.shift();
    if (floods.atMs.length === FLOODS && nowMs - floods.atMs[0] < WITHIN_MS) floods.endMs = nowMs + BAN_MS;
  }

  /** Null: it may come in. */
  refusalOf(client: string, nowMs: number): Refusal | null {
    const endMs = this.clients.get(client)?.endMs;
    if (endMs === undefined || endMs <= nowMs) return null;
    const seconds = Math.ceil(((endMs - nowMs) * NS_PER_MS) / NS_PER_S);
    return new Refusal(
      'flood',
      `connections from this address were closed for floods: try again in ${seconds} s`,
    );
  }

  /** Forgets those that are over. */
  look(nowMs: number): void {
    for (const [client, { atMs, endMs }] of this.clients)
      if (endMs <= nowMs && nowMs - (atMs.at(-1) ?? 0) >= WITHIN_MS) this.clients.delete(client);
  }
}

/** Of one client. */
interface Floods {
  /** When the last few were. */
  readonly atMs: number[];
  /** Until when it is not let in. */
  endMs: number;
}
