import type { Check, CheckStatus, Mend } from './check.js';
import { type Host, hasSystemd } from './host.js';

/** A check without its verdict. */
export type Question = Omit<Check, 'status' | 'found' | 'mend'>;

/** Passed or failed by what was found. What has passed keeps of `mend` only what a reboot would undo. */
export function judged(question: Question, ok: boolean, found: string, mend: Mend | null = null): Check {
  const kept = ok && mend !== null && !isUndoneByReboot(mend) ? null : mend;
  return verdict(question, ok ? 'ok' : 'failed', found, kept);
}

/** Variables of a shell are set with every shell anyway. */
export function isUndoneByReboot({ lostAtReboot, asUser }: Mend): boolean {
  return lostAtReboot && !asUser;
}

/** Does not apply or cannot be found out; `reason` says which. */
export function skipped(question: Question, reason: string): Check {
  return verdict(question, 'skipped', reason, null);
}

/** Nothing but words can help. */
export function advise(note: string): Mend {
  return { commands: [], asUser: false, lostAtReboot: false, note };
}

/** Writes `value` to files of /sys, now and, where systemd does it, at every start of the machine. */
export function sysfsMend(host: Host, name: string, path: string, value: string): Mend {
  if (!hasSystemd(host)) {
    // Goes on where one file refuses, and fails then.
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

function verdict(question: Question, status: CheckStatus, found: string, mend: Mend | null): Check {
  const { id, title, requiredFor, wanted, why } = question;
  return { id, title, status, requiredFor, found, wanted, why, mend };
}
