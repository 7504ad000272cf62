import type { Session } from './sessions.js';

/** A session's turn: at most `batch` requests of it. */
interface Turn {
  readonly session: Session;
  readonly batch: number;
}

/** The sessions that a GPU serves in turn. */
export class Cycle {
  private readonly turns: Turn[] = [];
  private next = 0;

  get length(): number {
    return this.turns.length;
  }

  clear(): void {
    this.turns.length = 0;
    this.next = 0;
  }

  join(session: Session, batch: number): void {
    this.turns.push({ session, batch });
  }

  /** The session has no turn any more. */
  leave(session: Session): void {
    const at = this.turns.findIndex((turn) => turn.session === session);
    if (at < 0) return;
    this.turns.splice(at, 1);
    if (at < this.next) this.next--;
  }

  /** The next turn; there must be one. */
  advance(): Turn {
    // Only now, so that who joins at the end of a round comes before those who had their turns.
    if (this.next === this.turns.length) this.next = 0;
    return this.turns[this.next++];
  }
}
