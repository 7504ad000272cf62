import { EscapementError } from '../../base/errors.js';
import { type ConformCase, GROUPS, type Group, type Level } from './case.js';
import { ALL_CASES } from './cases/all.js';
import { discover } from './discover.js';
import { Finding, type Result } from './finding.js';
import { plain } from './plain.js';
import { type KnownSenders, Trial } from './trial.js';
import type { Endpoint } from './wire/endpoint.js';
import { ConnectError, NoAnswer } from './wire/http-connection.js';
import type { Exchange } from './wire/transcript.js';

interface ConformOptions {
  /** Which model to ask; undefined: the server's own list is searched for one. */
  readonly model: string | undefined;
  /** Groups or ids of cases; none: all. */
  readonly only: readonly string[];
  readonly mayUnload: boolean;
  readonly senders: KnownSenders;
  /** Called before each case with the part that is done. */
  readonly onProgress: (fraction: number, id: string) => void;
}

/** What came of one case. */
export interface CaseReport {
  readonly id: string;
  readonly group: Group;
  readonly level: Level;
  readonly section: string;
  readonly says: string;
  readonly result: Result;
  /** Why it did not pass; empty: it did. */
  readonly reason: string;
  /** The exchanges that show it, unless it passed. */
  readonly exchanges: readonly Exchange[];
}

export interface ConformReport {
  readonly url: string;
  readonly grpc: string | null;
  /** Name and version, as the server calls itself. */
  readonly server: string;
  readonly extensions: readonly string[];
  readonly model: string;
  readonly version: string | null;
  readonly cases: readonly CaseReport[];
  readonly totals: Readonly<Record<Result, number>>;
  /** Ids of required cases, and of announced extensions, that failed. */
  readonly failed: readonly string[];
  /** Ids of other cases that failed. */
  readonly advised: readonly string[];
}

/** Examines a server, one case after the other. Throws `E_SERVER` if there is nothing to examine. */
export async function conform(endpoint: Endpoint, options: ConformOptions): Promise<ConformReport> {
  const { subject, server, extensions } = await discover(endpoint, options.model);
  const chosen = ALL_CASES.filter(({ id }) => isChosen(id, options.only));
  const known = new Extensions(new Set(extensions));
  const cases: CaseReport[] = [];
  for (const [i, each] of chosen.entries()) {
    options.onProgress(i / chosen.length, each.id);
    const trial = new Trial(endpoint, subject, options.mayUnload, options.senders);
    cases.push(await examine(each, trial, known).finally(() => trial.close()));
  }
  const count = (result: Result) => cases.filter((each) => each.result === result).length;
  const failures = cases.filter(({ result }) => result === 'fail');
  const idsOf = (counts: (level: Level) => boolean) =>
    failures.filter(({ level }) => counts(level)).map(({ id }) => id);
  return {
    url: endpoint.url.href.replace(/\/+$/, ''),
    grpc: endpoint.grpc,
    server: plain(server, 80),
    extensions: extensions.map((name) => plain(name, 80)),
    model: plain(subject.name, 80),
    version: subject.version === null ? null : plain(subject.version, 80),
    cases,
    totals: { pass: count('pass'), fail: count('fail'), absent: count('absent'), skipped: count('skipped') },
    failed: idsOf(isBinding),
    advised: idsOf((level) => !isBinding(level)),
  };
}

/** Whether a failure means that the server does not conform. */
function isBinding(level: Level): boolean {
  return level === 'required' || level === 'extension';
}

function isChosen(id: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((name) => id === name || id.startsWith(`${name}.`));
}

/** Whether a case asks over gRPC, as its name says. */
function needsGrpc(id: string): boolean {
  return /^grpc\.|\.grpc(?:-|$)/.test(id);
}

/**
 * Which extensions a server has. One that it does not announce counts as there if its first case passes: then failures
 * of the others are worth knowing, though the server has promised nothing.
 */
class Extensions {
  private readonly isThere = new Map<string, boolean>();

  constructor(private readonly announced: ReadonlySet<string>) {}

  /** Why cases of it need not run; null: they must. */
  whyAbsent({ extension }: ConformCase): string | null {
    if (extension === undefined || this.isThere.get(extension) !== false) return null;
    return `the server does not announce ${extension}, and its first case fails`;
  }

  /** How a case counts that ended so. */
  settle(
    { extension, level }: ConformCase,
    finding: Finding | null,
  ): { level: Level; finding: Finding | null } {
    if (extension === undefined) return { level, finding };
    if (this.announced.has(extension)) {
      if (level !== 'extension' || finding?.result !== 'absent') return { level, finding };
      return { level, finding: new Finding('fail', `${extension} is announced, but: ${finding.reason}`) };
    }
    const isFirst = !this.isThere.has(extension);
    if (isFirst) this.isThere.set(extension, finding?.result !== 'fail');
    const lower = level === 'extension' ? 'optional' : level;
    if (!isFirst || finding?.result !== 'fail') return { level: lower, finding };
    return { level, finding: new Finding('absent', `${extension} is not announced; ${finding.reason}`) };
  }
}

async function examine(one: ConformCase, trial: Trial, extensions: Extensions): Promise<CaseReport> {
  const { id, section, says } = one;
  const group = id.split('.')[0] as Group;
  const whyAbsent = extensions.whyAbsent(one);
  if (whyAbsent !== null)
    return { id, group, level: one.level, section, says, result: 'absent', reason: whyAbsent, exchanges: [] };
  const found = await one.run(trial).then(() => null, findingOf);
  const { level, finding } = extensions.settle(one, found);
  const report = { id, group, level, section, says };
  if (finding === null) return { ...report, result: 'pass', reason: '', exchanges: [] };
  const { result, reason } = finding;
  return { ...report, result, reason: plain(reason), exchanges: trial.transcript.exchanges };
}

/** What the server did wrong; anything else is a mistake of ours and goes on. */
function findingOf(error: unknown): Finding {
  if (error instanceof Finding) return error;
  if (error instanceof ConnectError) return new Finding('fail', `cannot be connected to: ${error.message}`);
  if (error instanceof NoAnswer) return new Finding('fail', error.message);
  throw error;
}

/** Throws `E_USAGE` for a name that is neither a group nor a case, and if nothing chosen can run without gRPC. */
export function checkChosen(only: readonly string[], grpc: string | null): void {
  const ids = ALL_CASES.map(({ id }) => id);
  const unknown = only.find((name) => !(GROUPS as readonly string[]).includes(name) && !ids.includes(name));
  if (unknown === undefined) {
    if (grpc !== null || ids.some((id) => isChosen(id, only) && !needsGrpc(id))) return;
    throw new EscapementError(
      'E_USAGE',
      `--only ${only.join(' --only ')}: every case of it needs gRPC; add --grpc HOST:PORT`,
    );
  }
  const near = ids.filter((id) => id.split('.')[0] === unknown.split('.')[0]).join(', ');
  throw new EscapementError(
    'E_USAGE',
    `--only ${unknown}: there is no such group or case; ${near === '' ? `groups are ${GROUPS.join(', ')}` : `cases are ${near}`}`,
  );
}
