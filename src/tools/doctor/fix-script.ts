import { quoted } from '../../report/reproduce.js';
import { wrap } from '../../text/wrap.js';
import { rebootText } from './alike.js';
import type { Fix } from './check.js';
import type { DoctorReport, ReportedCheck } from './report.js';

const COLUMNS = 90;

/**
 * A POSIX shell script with the commands of all failed checks, to be read before it is run. It can be run again. The
 * first half needs root, the second is for the user who starts escapement; recommendations are applied only with
 * ADVICE=yes. If a command fails, the script reports it, runs the others, and exits with 1: one GPU may refuse what
 * another accepts. Findings of the machine appear only in comments.
 */
export function fixScript(report: DoctorReport): string {
  const failed = report.checks.filter(({ status }) => status === 'failed');
  const byRoot = failed.filter(({ fix }) => fix !== null && !fix.asUser && fix.commands.length > 0);
  const byUser = failed.filter(({ fix }) => fix?.asUser === true && fix.commands.length > 0);
  const byHand = failed.filter(({ fix }) => fix === null || fix.commands.length === 0);
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
  '# Reports a command that fails, and goes on.',
  'failures=0',
  'failed() {',
  '  failures=$((failures + 1))',
  '  echo "Failed: $1" >&2',
  '}',
];

const TELL_FAILURES = [
  '',
  'if [ "$failures" -ne 0 ]; then',
  '  echo "Failed commands: $failures (see above)." >&2',
  '  exit 1',
  'fi',
  'echo "No command failed."',
];

function heading({ role, device, container }: DoctorReport): string[] {
  const text = [
    `Fixes what escapement doctor found on this machine, checked as a ${role}${role === 'worker' ? ` on ${device}` : ''}.`,
    'Read it, then run it twice: with sudo for the machine, and without sudo as the user who starts escapement.',
    'It can be run again. Recommendations are applied only with ADVICE=yes in its environment.',
    ...(container ? ['Created in a container: run the part for the machine on its host.'] : []),
  ];
  return text.flatMap((sentence) => comment(sentence));
}

function rootHalf(checks: readonly ReportedCheck[], report: DoctorReport): string[] {
  return [
    '',
    'if [ "$(id -u)" -ne 0 ]; then',
    '  echo "Not root: machine settings are not changed." >&2',
    'else',
    ...indented([...section(checks), ...reminder(report)]),
    'fi',
  ];
}

function userHalf(checks: readonly ReportedCheck[]): string[] {
  return [
    '',
    `if [ -n "\${SUDO_USER:-}" ]; then`,
    '  echo "Run it again without sudo for the settings of $SUDO_USER." >&2',
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
  const { fix } = check;
  if (fix === null) return [];
  return [...reason(check), ...fix.commands.map((command) => inScript(command, fix)), ''];
}

function reason({ title, found, wanted, why, fix }: ReportedCheck): string[] {
  return [
    ...comment(`${title}: found ${found}; wanted ${wanted}.`),
    ...comment(why),
    ...(fix?.lostAtReboot && !fix.asUser ? comment('Lost at the next reboot.') : []),
    ...(fix?.note === undefined ? [] : comment(`Note: ${fix.note}.`)),
  ];
}

/** A variable that is set in a script is gone with it, so it goes into the profile of later shells. */
function inScript(command: string, fix: Fix): string {
  const run = isForShell(fix) ? `profile ${quoted(command)}` : command;
  return `${run} || failed ${quoted(command)}`;
}

function isForShell({ asUser, lostAtReboot }: Fix): boolean {
  return asUser && lostAtReboot;
}

function profileFunction(checks: readonly ReportedCheck[]): string[] {
  if (!checks.some(({ fix }) => fix !== null && isForShell(fix))) return [];
  return [
    '# Adds a line to the file that login shells read, unless it is there. systemd units do not read it.',
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

/** What no command fixes. */
function remark(check: ReportedCheck): string[] {
  return ['', '# No command can fix this:', ...reason(check)];
}

/** One line cannot leave the comment: no text of the machine reaches the shell. */
function comment(text: string): string[] {
  return wrap(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), COLUMNS).map((line) => `# ${line}`);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}
