import type { Answer, Card } from './messages.js';

/** What a worker did for a sweep. */
export interface WorkerShare {
  readonly name: string;
  readonly threads: number;
  /** Whether it is still there. */
  readonly isHere: boolean;
  readonly cells: number;
  /** Of all its threads together. */
  readonly ranMs: number;
}

/** Counts what each worker does. */
export class WorkerTally {
  private readonly shares = new Map<string, { card: Card | null; cells: number; ranMs: number }>();
  private here: readonly Card[] = [];

  /** Those who are there now. */
  update(cards: readonly Card[]): void {
    this.here = cards;
    for (const card of cards) this.of(card.id).card = card;
  }

  count({ worker, ranMs }: Answer): void {
    const share = this.of(worker);
    share.cells++;
    share.ranMs += ranMs;
  }

  /** Of all workers that are there or did something, by name. */
  get all(): WorkerShare[] {
    return [...this.shares]
      .map(([id, { card, cells, ranMs }]) => ({
        name: card?.name ?? `worker ${id.slice(0, 8)}`,
        threads: card?.threads ?? 1,
        isHere: this.here.some((one) => one.id === id),
        ...{ cells, ranMs },
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  private of(id: string) {
    let share = this.shares.get(id);
    if (share === undefined) {
      share = { card: null, cells: 0, ranMs: 0 };
      this.shares.set(id, share);
    }
    return share;
  }
}
