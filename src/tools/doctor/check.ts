/** Roles of a machine: running models, scheduling them, or sending load. */
export const ROLES = ['worker', 'controller', 'client'] as const;
export type Role = (typeof ROLES)[number];

/** One requirement or recommendation for a machine, and its verdict. */
export interface Check {
  /** Stable, for scripts, e.g. `limits.open-files` or `gpu.persistence`. */
  readonly id: string;
  readonly title: string;
  /** `skipped`: does not apply here, or cannot be determined; `found` says why. */
  readonly status: 'ok' | 'failed' | 'skipped';
  /** Roles for which a failure makes latencies unreliable; for all others it is advice. */
  readonly requiredFor: readonly Role[];
  readonly found: string;
  readonly wanted: string;
  /** Consequence of a failure, in one sentence. */
  readonly why: string;
  /** Fix of a failure; null: none exists, or none is needed. */
  readonly fix: Fix | null;
}

export interface Fix {
  /** Shell commands, exactly as typed, safe to repeat; as root unless `asUser`. */
  readonly commands: readonly string[];
  readonly asUser: boolean;
  /** When it takes effect and how long it lasts, or advice if no command helps. */
  readonly note?: string;
}

/** A row of the table of checks: a check without its verdict, which `read` derives from `Subject`. */
export interface Row<Subject> extends Pick<Check, 'id' | 'title' | 'why'> {
  readonly requiredFor: readonly Role[] | ((subject: Subject) => readonly Role[]);
  readonly wanted: string | ((subject: Subject) => string);
  /** Finding, or a bare reason if the check does not apply or cannot be determined. */
  readonly read: (subject: Subject) => Finding | string;
}

interface Finding {
  readonly ok: boolean;
  readonly found: string;
  /** Fix of a failure. */
  readonly fix?: Fix | null;
}

/** Verdicts of all rows. */
export function judge<Subject>(rows: readonly Row<Subject>[], subject: Subject): Check[] {
  return rows.map(({ id, title, requiredFor, wanted, why, read }) => {
    const finding = read(subject);
    const { ok, found, fix = null } = typeof finding === 'string' ? { ok: null, found: finding } : finding;
    return {
      id,
      title,
      status: ok === null ? 'skipped' : ok ? 'ok' : 'failed',
      requiredFor: typeof requiredFor === 'function' ? requiredFor(subject) : requiredFor,
      found,
      wanted: typeof wanted === 'function' ? wanted(subject) : wanted,
      why,
      fix: ok === false ? fix : null,
    };
  });
}

export function asRoot(commands: readonly string[], note?: string): Fix {
  return { commands, asUser: false, ...(note === undefined ? {} : { note }) };
}

export function untilReboot(command: string): Fix {
  return asRoot([command], 'lost at the next reboot');
}

export function asUser(command: string, note?: string): Fix {
  return { ...asRoot([command], note), asUser: true };
}

/** A fix without commands. */
export function advise(note: string): Fix {
  return asRoot([], note);
}

/** Output of `escapement doctor --json`. Later versions may add keys, but never remove or redefine one. */
export interface DoctorReport {
  readonly role: Role;
  readonly device: string;
  /** Size in bytes of the weights cache that must fit. */
  readonly cacheBytes: number;
  /** True if kernel commands must run on the machine around the container. */
  readonly container: boolean;
  /** True if no required check failed; the exit status is then 0. */
  readonly ok: boolean;
  readonly totals: { readonly required: Totals; readonly advice: Totals };
  readonly checks: readonly ReportedCheck[];
}

type Totals = Readonly<Record<Check['status'], number>>;

export interface ReportedCheck extends Check {
  /** Required for this role; otherwise advice. */
  readonly required: boolean;
}

type ReportFacts = Pick<DoctorReport, 'role' | 'device' | 'cacheBytes' | 'container'>;

export function makeReport(facts: ReportFacts, checks: readonly Check[]): DoctorReport {
  const reported = checks.map((check) => ({ ...check, required: check.requiredFor.includes(facts.role) }));
  const required = totals(reported.filter((check) => check.required));
  const advice = totals(reported.filter((check) => !check.required));
  return { ...facts, ok: required.failed === 0, totals: { required, advice }, checks: reported };
}

function totals(checks: readonly Check[]): Totals {
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  return { ok: count('ok'), failed: count('failed'), skipped: count('skipped') };
}
