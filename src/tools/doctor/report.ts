import type { Check, Role } from './check.js';
import { isUndoneByReboot } from './verdict.js';

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
  /**
   * Ids of the checks for settings that the next reboot undoes, unless they are set at boot: those that failed, once they
   * are fixed, and those that passed.
   */
  readonly lostAtReboot: readonly string[];
  readonly checks: readonly ReportedCheck[];
}

interface Totals {
  readonly ok: number;
  readonly failed: number;
  /** Does not apply, or cannot be found out. */
  readonly skipped: number;
}

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
