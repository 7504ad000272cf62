import type { AnswerCount } from '../record/results.js';

/** What came of a request, as its client sees it. */
export interface Reply {
  /** For people: `HTTP 429`, `gRPC RESOURCE_EXHAUSTED`, or `no answer`. */
  readonly status: string;
  /** What was said of a failure, on one line; empty: nothing. */
  readonly message: string;
  /** Absent: there is an answer, or the generator itself held the request back. */
  readonly lack?: Lack;
  /**
   * What the answer of a target that keeps answers says of its outputs, a list of names, datatypes and shapes if the server is
   * sane. Throws where the answer is too long or cannot be read.
   */
  readonly outputs?: () => unknown;
}

/** Why there is no answer: the request was never sent, or its connection broke after that. */
export type Lack = 'neverSent' | 'lost';

/** So much of a message is kept. */
const MOST_CHARS = 200;

/** A request without an answer, and why. */
export function noAnswer(reason: string, lack?: Lack): Reply {
  const reply = { status: 'no answer', message: plainLine(reason) };
  return lack === undefined ? reply : { ...reply, lack };
}

/** The message of a failure over HTTP: the `error` of a JSON body, else its text. */
export function httpMessage(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === 'string') return plainLine(error);
  } catch {
    // Not from a server of this protocol, or cut off.
  }
  return plainLine(body);
}

/** A text of a stranger on one line, not too long, and without what would move a terminal's cursor. */
export function plainLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
}

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
    const reason = commonReason(message);
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
function commonReason(message: string): string {
  return message === '' ? '' : message.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '#');
}
