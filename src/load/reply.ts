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
