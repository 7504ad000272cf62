import { type Case, Ending, type Level, plain, type Result } from './case.js';
import { BINARY, CLASSIFICATION, CONFIGURATION, REPOSITORY, STATISTICS } from './cases/extensions.js';
import { GRPC } from './cases/grpc.js';
import { ERRORS, HTTP } from './cases/http.js';
import { ROBUSTNESS } from './cases/robustness.js';
import { SENDERS } from './cases/senders.js';
import { discover } from './discover.js';
import type { Endpoint } from './http.js';
import { type Known, Trial } from './trial.js';

/** Every case, in the order they run. */
export const CASES: readonly Case[] = [
  ...[...HTTP, ...ERRORS, ...BINARY, ...GRPC, ...STATISTICS, ...CONFIGURATION, ...REPOSITORY],
  ...[...CLASSIFICATION, ...SENDERS, ...ROBUSTNESS],
];

export interface Options extends Known {
  /** Which model to ask; undefined: the server's own list is searched for one. */
  readonly model?: string | undefined;
  /** Groups or ids of cases; none: all. */
  readonly only: readonly string[];
}

/** What came of one case. */
export interface Verdict {
  readonly id: string;
  readonly level: Level;
  readonly result: Result;
  /** Why it did not pass; empty: it did. */
  readonly reason: string;
  /** What was sent and came back; empty: it passed. */
  readonly exchanges: readonly string[];
}

export interface Report {
  readonly server: string;
  readonly model: string;
  readonly verdicts: readonly Verdict[];
  /** Ids of cases that failed: those that mean that the server does not conform, and the others. */
  readonly failed: readonly string[];
  readonly advised: readonly string[];
}

/** Examines a server, one case after the other. Throws if there is nothing to examine. */
export async function examine(endpoint: Endpoint, options: Options): Promise<Report> {
  const { server, model, extensions } = await discover(endpoint, options, options.model);
  const verdicts: Verdict[] = [];
  /** Whether extensions that are not announced are there after all: their first case passes. */
  const isThere = new Map<string, boolean>();
  for (const one of CASES.filter(({ id }) => isChosen(id, options.only))) {
    const trial = new Trial(endpoint, model, options);
    const { id, extension } = one;
    const isPromised = extension === undefined || extensions.includes(extension);
    const level = one.level === 'extension' && !isPromised ? 'optional' : one.level;
    let ending =
      extension !== undefined && isThere.get(extension) === false
        ? new Ending('absent', `${extension} is not there`)
        : await one.run(trial).then(() => null, endingOf);
    trial.grpc.close();
    if (level === 'extension' && ending?.result === 'absent')
      ending = new Ending('fail', `${extension} is announced, but: ${ending.message}`);
    if (!isPromised && !isThere.has(extension)) {
      isThere.set(extension, ending?.result !== 'fail');
      if (ending?.result === 'fail') ending = new Ending('absent', `not announced; ${ending.message}`);
    }
    const [result, reason] =
      ending === null ? (['pass', ''] as const) : [ending.result, plain(ending.message)];
    verdicts.push({ id, level, result, reason, exchanges: ending === null ? [] : trial.exchanges });
  }
  return { server, model: plain(model.name, 80), verdicts, ...failuresOf(verdicts) };
}

export function isChosen(id: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((name) => id === name || id.startsWith(`${name}.`));
}

function failuresOf(verdicts: readonly Verdict[]): Pick<Report, 'failed' | 'advised'> {
  const isBinding = ({ level }: Verdict) => level === 'required' || level === 'extension';
  const failures = verdicts.filter(({ result }) => result === 'fail');
  const idsOf = (list: readonly Verdict[]) => list.map(({ id }) => id);
  return {
    failed: idsOf(failures.filter(isBinding)),
    advised: idsOf(failures.filter((each) => !isBinding(each))),
  };
}

/** What an answer is not prepared for is as wrong as what a check finds. */
function endingOf(error: Error): Ending {
  return error instanceof Ending ? error : new Ending('fail', error.message);
}
