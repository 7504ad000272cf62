import type { AnswerCount } from '../record/results.js';
import type { Reply } from './reply.js';

/** A server that says something else each time is not remembered without end. */
const MOST_STATUSES = 100;
/** Of one status; what comes after them is counted as one more. */
const MOST_REASONS = 5;
/** No reason: messages are one line. */
const FURTHER = '\n';

/** Counts the answers of a run by their status and reason, with the first message of each. */
export class AnswerCounts {
  /** By status, and then by reason. */
  private readonly counts = new Map<string, Map<string, { count: number; readonly message: string }>>();

  add({ status, message }: Reply): void {
    let reasons = this.counts.get(status);
    if (reasons === undefined) {
      if (this.counts.size === MOST_STATUSES) return;
      reasons = new Map();
      this.counts.set(status, reasons);
    }
    const reason = reasonOf(message);
    const known = reasons.get(reason) ?? (reasons.size < MOST_REASONS ? undefined : reasons.get(FURTHER));
    if (known !== undefined) known.count++;
    else reasons.set(reasons.size < MOST_REASONS ? reason : FURTHER, { count: 1, message });
  }

  /** The most frequent first. */
  list(): AnswerCount[] {
    return [...this.counts]
      .flatMap(([status, reasons]) => [...reasons.values()].map((each) => ({ status, ...each })))
      .sort((a, b) => b.count - a.count || (a.status < b.status ? -1 : 1));
  }
}

/** The message without what differs between requests that fail for the same reason: numbers, and names in quotes. */
function reasonOf(message: string): string {
  return message === '' ? '' : message.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '#');
}
