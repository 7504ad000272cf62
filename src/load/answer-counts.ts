import type { AnswerCount } from '../record/results.js';
import type { Reply } from './reply.js';

/** A server that says something else each time is not remembered without end. */
const MOST_STATUSES = 100;

/** Counts the answers of a run by their status, with the first message of each. */
export class AnswerCounts {
  private readonly counts = new Map<string, { count: number; readonly message: string }>();

  add({ status, message }: Reply): void {
    const known = this.counts.get(status);
    if (known !== undefined) known.count++;
    else if (this.counts.size < MOST_STATUSES) this.counts.set(status, { count: 1, message });
  }

  /** The most frequent first. */
  list(): AnswerCount[] {
    return [...this.counts]
      .map(([status, { count, message }]) => ({ status, count, message }))
      .sort((a, b) => b.count - a.count || (a.status < b.status ? -1 : 1));
  }
}
