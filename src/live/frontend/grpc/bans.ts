import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { Refusal } from '../refusal.js';

/** How long a client is not let in after a flood. */
const BAN_MS = 10_000;

/**
 * Clients of which a connection was closed for a flood. Without this they would open the next one at once, and each lets
 * them do as much again.
 */
export class Bans {
  /** By client, until when on the clock of `performance.now()`. */
  private readonly ends = new Map<string, number>();

  add(client: string, nowMs: number): void {
    this.ends.set(client, nowMs + BAN_MS);
  }

  /** Null: it may come in. */
  refusalOf(client: string, nowMs: number): Refusal | null {
    const endMs = this.ends.get(client);
    if (endMs === undefined || endMs <= nowMs) return null;
    const seconds = Math.ceil(((endMs - nowMs) * NS_PER_MS) / NS_PER_S);
    return new Refusal(
      'flood',
      `a connection from this address was closed for a flood: try again in ${seconds} s`,
    );
  }

  /** Forgets those that are over. */
  look(nowMs: number): void {
    for (const [client, endMs] of this.ends) if (endMs <= nowMs) this.ends.delete(client);
  }
}
