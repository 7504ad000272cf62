import { quoted } from '../report/reproduce.js';
import { wrap } from '../report/wrap.js';
import { rebootText } from './alike.js';
import type { Mend } from './check.js';
import type { DoctorReport, ReportedCheck } from './report.js';

const COLUMNS = 90;

/**
 * A POSIX shell script with the commands of all checks that failed, to be read before it is run. It may be run
 * again. Its first half needs root, its second belongs to the user who starts escapement; advice is followed only
 * with ADVICE=yes. A command that fails is told, the others run all the same, and the exit status is 1 in the end: a
 * GPU refuses what another takes. What was found on the machine stands in comments only.
 */
export function fixScript(report: DoctorReport): string {
  const failed = report.checks.filter(({ status }) => status === 'failed');
  const byRoot = failed.filter(({ mend }) => mend !== null && !mend.asUser && mend.commands.length > 0);
  const byUser = failed.filter(({ mend }) => mend?.asUser === true && mend.commands.length > 0);
  const byHand = failed.filter(({ mend }) => mend === null || mend.commands.length === 0);
  return [
    '#!/bin/sh',
    ...heading(report),
    'set -u',
    ...(byRoot.length + byUser.length === 0 ? [] : COUNT_FAILURES),
    ...(byRoot.length === 0 ? [] : rootHalf(byRoot, report)),
    ...(byUser.length === 0 ? [] : userHalf(byUser)),
    ...byHand.flatMap(remark),
    ...(byRoot.length + byUser.length === 0 ? [] : TELL_FAILURES),
    '',
  ].join('\n');
}

const COUNT_FAILURES = [
  '',
  '# What fails is told, and the rest goes on.',
  'failures=0',
  'failed() {',
  '  failures=$((failures + 1))',
  '  echo "Failed: $1" >&2',
  '}',
];

const TELL_FAILURES = [
  '',
  'if [ "$failures" -ne 0 ]; then',
  '  echo "Commands that failed: $failures. They are named above." >&2',
  '  exit 1',
  'fi',
  'echo "No command failed."',
];

function heading({ role, device, container }: DoctorReport): string[] {
  const text = [
    `Mends what escapement doctor found on this machine as a ${role}${role === 'worker' ? ` on ${device}` : ''}.`,
    'Read it, then run it twice: with sudo for the machine, and without as the user who starts escapement.',
    'It may be run again. Advice is followed only with ADVICE=yes in its environment.',
    ...(container
      ? ['Made in a container: settings of the machine are those of the one around it, so run it there.']
      : []),
  ];
  return text.flatMap((sentence) => comment(sentence));
}

function rootHalf(checks: readonly ReportedCheck[], report: DoctorReport): string[] {
  return [
    '',
    'if [ "$(id -u)" -ne 0 ]; then',
    '  echo "Not root: the settings of the machine are left as they are." >&2',
    'else',
    ...indented([...section(checks), ...reminder(report)]),
    'fi',
  ];
}

function userHalf(checks: readonly ReportedCheck[]): string[] {
  return [
    '',
    `if [ -n "\${SUDO_USER:-}" ]; then`,
    '  echo "Run this again without sudo for the settings of $SUDO_USER." >&2',
    'else',
    ...indented([...profileFunction(checks), ...section(checks)]),
    'fi',
  ];
}

/** What is required first, then what is advised. */
function section(checks: readonly ReportedCheck[]): string[] {
  const advice = checks.filter(({ required }) => !required);
  return [
    ...checks.filter(({ required }) => required).flatMap(step),
    ...(advice.length === 0
      ? []
      : [`if [ "\${ADVICE:-no}" = yes ]; then`, ...indented(advice.flatMap(step)), 'fi']),
  ];
}

function step(check: ReportedCheck): string[] {
  const { mend } = check;
  if (mend === null) return [];
  return [...reason(check), ...mend.commands.map((command) => inScript(command, mend)), ''];
}

function reason({ title, found, wanted, why, mend }: ReportedCheck): string[] {
  return [
    ...comment(`${title}: found ${found}; wanted ${wanted}.`),
    ...comment(why),
    ...(mend?.lostAtReboot && !mend.asUser ? comment('Lost at the next reboot.') : []),
    ...(mend?.note === undefined ? [] : comment(`Note: ${mend.note}.`)),
  ];
}

/** A variable that is set in a script is gone with it, so it goes into the profile of later shells. */
function inScript(command: string, mend: Mend): string {
  const run = isForShell(mend) ? `profile ${quoted(command)}` : command;
  return `${run} || failed ${quoted(command)}`;
}

function isForShell({ asUser, lostAtReboot }: Mend): boolean {
  return asUser && lostAtReboot;
}

function profileFunction(checks: readonly ReportedCheck[]): string[] {
  if (!checks.some(({ mend }) => mend !== null && isForShell(mend))) return [];
  return [
    '# Adds a line to the profile that login shells read, unless it is there. Units of systemd do not read it.',
    'profile() {',
    '  touch "$HOME/.profile" || return',
    '  grep -qxF -- "$1" "$HOME/.profile" || printf \'%s\\n\' "$1" >> "$HOME/.profile"',
    '}',
    '',
  ];
}

function reminder({ checks, lostAtReboot }: DoctorReport): string[] {
  const lost = rebootText(checks, lostAtReboot);
  return lost === null ? [] : [`echo ${quoted(lost)}`];
}

/** What no command mends. */
function remark(check: ReportedCheck): string[] {
  return ['', '# No command mends this:', ...reason(check)];
}

/** One line cannot leave the comment: no text of the machine reaches the shell. */
function comment(text: string): string[] {
  return wrap(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), COLUMNS).map((line) => `# ${line}`);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}
