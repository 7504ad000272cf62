import type { AnswerCount } from '../record/results.js';

/** Result of a request, as its client sees it. */
export interface Reply {
  /** For people: `HTTP 429`, `gRPC RESOURCE_EXHAUSTED`, or `no answer`. */
  readonly status: string;
  /** The server's error message, on one line; empty if none. */
  readonly message: string;
  /** Absent if there is an answer, or if the generator itself held the request back. */
  readonly lack?: Lack;
  /**
   * The `outputs` of the answer, if the target keeps answers; untrusted. Throws if the answer is too long or malformed.
   */
  readonly outputs?: () => unknown;
}

/** Reason for a missing answer: the request was never sent, or its connection broke after that. */
export type Lack = 'neverSent' | 'lost';

/** Number of characters kept of a message. */
const MOST_CHARS = 200;

/** Reply of a request without an answer. */
export function noAnswer(reason: string, lack?: Lack): Reply {
  const reply = { status: 'no answer', message: plainLine(reason) };
  return lack === undefined ? reply : { ...reply, lack };
}

/** Message of a failure over HTTP: the `error` of a JSON body, else its text. */
export function httpMessage(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === 'string') return plainLine(error);
  } catch {
    // Truncated, or not from a server of this protocol.
  }
  return plainLine(body);
}

/** An untrusted text as one line of limited length, without control characters. */
export function plainLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
}

/** Limits memory for a server that keeps sending new statuses. */
const MOST_STATUSES = 100;
/** Largest number of reasons per status; all others are counted as one. */
const MOST_REASONS = 5;
/** Cannot be a real reason, since messages are one line. */
const FURTHER = '\n';

/** Counts the answers of a run by status and reason, with the first message of each. */
export class AnswerCounts {
  /** By status, then by reason. */
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

  /** Most frequent first. */
  list(): AnswerCount[] {
    return [...this.counts]
      .flatMap(([status, reasons]) => [...reasons.values()].map((each) => ({ status, ...each })))
      .sort((a, b) => b.count - a.count || (a.status < b.status ? -1 : 1));
  }
}

/** The message without the parts that vary between requests with the same failure: numbers and quoted names. */
function commonReason(message: string): string {
  return message === '' ? '' : message.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '#');
}
