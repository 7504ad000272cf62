import { type Check, isUndoneByReboot, type Role } from './check.js';

/** What `escapement doctor --json` prints. Keys are added in later versions, and none goes or changes its meaning. */
export interface DoctorReport {
  readonly role: Role;
  readonly device: string;
  /** Bytes of the weights cache that must fit. */
  readonly cacheBytes: number;
  /** Commands for the kernel have to be given on the machine around the container. */
  readonly container: boolean;
  /** No required check failed; the exit status is 0. */
  readonly ok: boolean;
  readonly totals: { readonly required: Totals; readonly advice: Totals };
  /** Ids of the checks for settings that the next reboot undoes unless they are set at boot, failed or passed. */
  readonly lostAtReboot: readonly string[];
  readonly checks: readonly ReportedCheck[];
}

type Totals = Readonly<Record<Check['status'], number>>;

export interface ReportedCheck extends Check {
  /** For this role; otherwise it is advice. */
  readonly required: boolean;
}

type ReportFacts = Pick<DoctorReport, 'role' | 'device' | 'cacheBytes' | 'container'>;

export function makeReport(facts: ReportFacts, checks: readonly Check[]): DoctorReport {
  const reported = checks.map((check) => ({ ...check, required: check.requiredFor.includes(facts.role) }));
  const required = totals(reported.filter((check) => check.required));
  const advice = totals(reported.filter((check) => !check.required));
  return {
    ...facts,
    ok: required.failed === 0,
    totals: { required, advice },
    lostAtReboot: reported.filter(({ fix }) => fix !== null && isUndoneByReboot(fix)).map(({ id }) => id),
    checks: reported,
  };
}

function totals(checks: readonly Check[]): Totals {
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  return { ok: count('ok'), failed: count('failed'), skipped: count('skipped') };
}

/** `worker on cuda` */
export function subjectOf({ role, device }: DoctorReport): string {
  return role === 'worker' ? `${role} on ${device}` : role;
}

/** What a reboot undoes, in a sentence; null: nothing. */
export function rebootText({ checks, lostAtReboot }: DoctorReport): string | null {
  const lost = joinGpus(
    checks.filter(({ id }) => lostAtReboot.includes(id)),
    () => [],
  );
  if (lost.length === 0) return null;
  return `Lost at every reboot unless set at boot: ${lost.map(({ title }) => title).join('; ')}.`;
}

/**
 * The same checks of several GPUs as one, titled `GPUs 0-7 persistence mode`, with the commands of all; `sameness`
 * says which belong together. What is asked of each GPU stays together, passed or failed.
 */
export function joinGpus(
  checks: readonly ReportedCheck[],
  sameness: (check: ReportedCheck) => readonly unknown[],
): ReportedCheck[] {
  const subjects = new Map<string, Map<string, ReportedCheck[]>>();
  for (const check of checks) {
    const groups = getOrAdd(subjects, check.id.replace(GPU, 'gpu.'), () => new Map());
    getOrAdd(groups, JSON.stringify(sameness(check)), () => [] as ReportedCheck[]).push(check);
  }
  return [...subjects.values()].flatMap((groups) => [...groups.values()].map(join));
}

const GPU = /^gpu\.(\d+)\./;

function join(alike: readonly ReportedCheck[]): ReportedCheck {
  const first = alike[0] as ReportedCheck;
  if (alike.length === 1) return first;
  const numbers = alike.map(({ id }) => Number(GPU.exec(id)?.[1]));
  const ends = (step: number) => numbers.filter((number) => !numbers.includes(number + step));
  const ranges = ends(-1).map((from, i) => (from === ends(1)[i] ? `${from}` : `${from}-${ends(1)[i]}`));
  return {
    ...first,
    title: first.title.replace(/^GPU \d+/, `GPUs ${ranges.join(', ')}`),
    fix: first.fix && { ...first.fix, commands: alike.flatMap(({ fix }) => fix?.commands ?? []) },
  };
}

function getOrAdd<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
