import type { Check, CheckStatus, Fix } from './check.js';
import { type Host, hasSystemd } from './host.js';

/** A check without its verdict. */
export type Question = Omit<Check, 'status' | 'found' | 'fix'>;

/** Passed or failed by what was found. What has passed keeps of `fix` only what a reboot would undo. */
export function checked(question: Question, ok: boolean, found: string, fix: Fix | null = null): Check {
  const kept = ok && fix !== null && !isUndoneByReboot(fix) ? null : fix;
  return verdict(question, ok ? 'ok' : 'failed', found, kept);
}

/** Variables of a shell are set with every shell anyway. */
export function isUndoneByReboot({ lostAtReboot, asUser }: Fix): boolean {
  return lostAtReboot && !asUser;
}

/** Does not apply or cannot be found out; `reason` says which. */
export function skipped(question: Question, reason: string): Check {
  return verdict(question, 'skipped', reason, null);
}

/** Nothing but words can help. */
export function advise(note: string): Fix {
  return { commands: [], asUser: false, lostAtReboot: false, note };
}

/** Writes `value` to files of /sys, now and, where systemd does it, at every start of the machine. */
export function sysfsFix(host: Host, name: string, path: string, value: string): Fix {
  if (!hasSystemd(host)) {
    // Goes on if one file cannot be written, and fails at the end.
    return { commands: [`echo ${value} | tee ${path} > /dev/null`], asUser: false, lostAtReboot: true };
  }
  const file = `/etc/tmpfiles.d/escapement-${name}.conf`;
  return {
    commands: [`echo 'w ${path} - - - - ${value}' > ${file}`, `systemd-tmpfiles --create ${file}`],
    asUser: false,
    lostAtReboot: false,
  };
}

/** A count with its thousands apart: `65,535`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

function verdict(question: Question, status: CheckStatus, found: string, fix: Fix | null): Check {
  const { id, title, requiredFor, wanted, why } = question;
  return { id, title, status, requiredFor, found, wanted, why, fix };
}
