/** What a machine is to be used for: it runs models, schedules them, or sends load. */
export const ROLES = ['worker', 'controller', 'client'] as const;
export type Role = (typeof ROLES)[number];

/** One thing that a machine should be or have, and whether it is so. */
export interface Check {
  /** Stable, for scripts, e.g. `limits.open-files` or `gpu.0.persistence`. */
  readonly id: string;
  readonly title: string;
  /** `skipped`: does not apply here, or cannot be found out; `found` says why. */
  readonly status: 'ok' | 'failed' | 'skipped';
  /** For whom a failure means that latencies cannot be relied on; for all others it is advice. */
  readonly requiredFor: readonly Role[];
  readonly found: string;
  readonly wanted: string;
  /** What goes wrong otherwise, in one sentence. */
  readonly why: string;
  /**
   * How to fix it; for a check that passed, what has to be repeated after a reboot so that it passes again. Null: there is
   * no fix, or none is needed.
   */
  readonly fix: Fix | null;
}

export interface Fix {
  /** Shell commands, exactly as they are to be typed, which may be repeated; as root unless `asUser`. */
  readonly commands: readonly string[];
  readonly asUser: boolean;
  /** Lost at the next start of the machine (or of the shell, for environment variables) unless repeated. */
  readonly lostAtReboot: boolean;
  /** When it takes effect, or what to do where no command can. */
  readonly note?: string;
}

/** A row of the table of checks: the check without its verdict, and how that is read off `Subject`. */
export interface Row<Subject> extends Pick<Check, 'id' | 'title' | 'why'> {
  readonly requiredFor: readonly Role[] | ((subject: Subject) => readonly Role[]);
  readonly wanted: string | ((subject: Subject) => string);
  /** Default: always. */
  readonly applies?: (subject: Subject) => boolean;
  /** What was found; a reason alone: does not apply, or cannot be found out. */
  readonly read: (subject: Subject) => Finding | string;
}

interface Finding {
  readonly ok: boolean;
  readonly found: string;
  /** Of a failure, or of a setting that a reboot undoes. */
  readonly fix?: Fix | null;
}

/** The verdicts of all rows that apply. */
export function judge<Subject>(rows: readonly Row<Subject>[], subject: Subject): Check[] {
  return rows
    .filter(({ applies = () => true }) => applies(subject))
    .map(({ id, title, requiredFor, wanted, why, read }) => {
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
        fix: ok === false || (fix !== null && isUndoneByReboot(fix)) ? fix : null,
      };
    });
}

/** Variables of a shell are set with every shell anyway. */
function isUndoneByReboot({ lostAtReboot, asUser }: Fix): boolean {
  return lostAtReboot && !asUser;
}

export function asRoot(commands: readonly string[], note?: string): Fix {
  return { commands, asUser: false, lostAtReboot: false, ...(note === undefined ? {} : { note }) };
}

export function untilReboot(command: string): Fix {
  return { commands: [command], asUser: false, lostAtReboot: true };
}

export function inShell(command: string): Fix {
  return { commands: [command], asUser: true, lostAtReboot: true };
}

/** Nothing but words can help. */
export function advise(note: string): Fix {
  return asRoot([], note);
}

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
