import type { HttpAnswer } from './http.js';
import type { Trial } from './trial.js';

/**
 * How much a case counts. `required`: the protocol's core demands it. `extension`: an extension demands it of servers that
 * announce that extension. `optional`: a server may lack it, but what it has must be right. `advice`: other specifications
 * or experience with clients ask for it.
 */
export type Level = 'required' | 'extension' | 'optional' | 'advice';

export type Result = 'pass' | 'fail' | 'absent' | 'skipped';

/** One demand on a server. */
export interface Case {
  /** `GROUP.NAME`. */
  readonly id: string;
  readonly level: Level;
  /** The extension that demands it, by its name in the server's metadata. */
  readonly extension: string | undefined;
  /** Returns if it is met, and throws otherwise. */
  readonly run: (trial: Trial) => Promise<void>;
}

export type Ask<A = HttpAnswer> = (trial: Trial) => Promise<A>;
export type Expect<A = HttpAnswer> = (answer: A, trial: Trial) => unknown;

/** Makes the rows of a group's table: name, request, and what the answer must be. */
export function rows(group: string, extension?: string) {
  const row =
    (level: Level) =>
    <A>(name: string, ask: Ask<A>, expect: Expect<A> = () => {}): Case => ({
      ...{ id: `${group}.${name}`, level, extension },
      run: async (trial) => void (await expect(await ask(trial), trial)),
    });
  return {
    required: row(extension === undefined ? 'required' : 'extension'),
    optional: row('optional'),
    advice: row('advice'),
  };
}

/** How a case ended other than by passing. */
export class Ending extends Error {
  constructor(
    readonly result: Exclude<Result, 'pass'>,
    reason: string,
  ) {
    super(reason);
  }
}

export function fail(reason: string): never {
  throw new Ending('fail', reason);
}

/** The server does not have what the case is about. */
export function absent(reason: string): never {
  throw new Ending('absent', reason);
}

/** This run cannot decide the case. */
export function skip(reason: string): never {
  throw new Ending('skipped', reason);
}

export function check(holds: unknown, reason: string): asserts holds {
  if (!holds) fail(reason);
}

/** A server's text on one line, not too long, and without what would move a terminal's cursor or reverse its text. */
export function plain(text: string, mostChars = 600): string {
  const line = text
    .slice(0, 4 * mostChars)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}\s]+/gu, ' ')
    .trim();
  return line.length > mostChars || text.length > 4 * mostChars ? `${line.slice(0, mostChars)}…` : line;
}

/** Any value of an answer as JSON in a message. */
export function shown(value: unknown): string {
  try {
    return plain(JSON.stringify(value) ?? 'nothing', 120);
  } catch {
    return 'a value with too many levels to show';
  }
}
