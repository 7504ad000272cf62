import { quoted } from '../../report/reproduce.js';
import { wrap } from '../../text/wrap.js';
import { type DoctorReport, type ReportedCheck, rebootText, subjectOf } from './report.js';

const COLUMNS = 90;

const COUNT_FAILURES = `
# Reports a command that fails, and goes on.
failures=0
failed() {
  failures=$((failures + 1))
  echo "Failed: $1" >&2
}`;

const TELL_FAILURES = `
if [ "$failures" -ne 0 ]; then
  echo "Failed commands: $failures (see above)." >&2
  exit 1
fi
echo "No command failed."`;

/** A variable that is set in a script is gone with it. */
const PROFILE = `# Adds a line to the file that login shells read, unless it is there. systemd units do not read it.
profile() {
  touch "$HOME/.profile" || return
  grep -qxF -- "$1" "$HOME/.profile" || printf '%s\\n' "$1" >> "$HOME/.profile"
}
`;

/**
 * A POSIX shell script with the commands of all failed checks, to be read before it is run. It can be run again. The
 * first half needs root, the second is for the user who starts escapement; recommendations are applied only with
 * ADVICE=yes. If a command fails, the script reports it, runs the others, and exits with 1: one GPU may refuse what
 * another accepts. Findings of the machine appear only in comments.
 */
export function fixScript(report: DoctorReport): string {
  const failed = report.checks.filter(({ status }) => status === 'failed');
  const commanded = failed.filter(({ fix }) => fix !== null && fix.commands.length > 0);
  const [byRoot, byUser] = [false, true].map((asUser) =>
    commanded.filter(({ fix }) => fix?.asUser === asUser),
  );
  const byHand = failed.filter((check) => !commanded.includes(check));
  const lost = rebootText(report);
  return [
    '#!/bin/sh',
    `# Fixes what escapement doctor found on this machine, checked as a ${subjectOf(report)}.`,
    '# Read it, then run it twice: with sudo for the machine, and without sudo as the user who starts',
    '# escapement. It can be run again. Recommendations are applied only with ADVICE=yes in its environment.',
    ...(report.container ? ['# Created in a container: run the part for the machine on its host.'] : []),
    'set -u',
    ...(commanded.length === 0 ? [] : [COUNT_FAILURES]),
    ...either(
      '"$(id -u)" -ne 0',
      'echo "Not root: machine settings are not changed." >&2',
      [...section(byRoot), ...(lost === null ? [] : [`echo ${quoted(lost)}`])],
      byRoot,
    ),
    ...either(
      `-n "\${SUDO_USER:-}"`,
      'echo "Run it again without sudo for the settings of $SUDO_USER." >&2',
      [...(byUser?.some(isForShell) ? PROFILE.split('\n') : []), ...section(byUser)],
      byUser,
    ),
    ...byHand.flatMap((check) => ['', '# No command can fix this:', ...reason(check)]),
    ...(commanded.length === 0 ? [] : [TELL_FAILURES]),
    '',
  ].join('\n');
}

/** What is done unless a condition holds. */
function either(
  condition: string,
  otherwise: string,
  lines: readonly string[],
  checks: readonly ReportedCheck[] = [],
): string[] {
  if (checks.length === 0) return [];
  return ['', `if [ ${condition} ]; then`, `  ${otherwise}`, 'else', ...indented(lines), 'fi'];
}

/** What is required first, then what is advised. */
function section(checks: readonly ReportedCheck[] = []): string[] {
  const advice = checks.filter(({ required }) => !required).flatMap(step);
  return [
    ...checks.filter(({ required }) => required).flatMap(step),
    ...(advice.length === 0 ? [] : [`if [ "\${ADVICE:-no}" = yes ]; then`, ...indented(advice), 'fi']),
  ];
}

function step(check: ReportedCheck): string[] {
  const commands = check.fix?.commands ?? [];
  const run = (command: string) => (isForShell(check) ? `profile ${quoted(command)}` : command);
  return [...reason(check), ...commands.map((command) => `${run(command)} || failed ${quoted(command)}`), ''];
}

function reason({ title, found, wanted, why, fix }: ReportedCheck): string[] {
  const lost = fix?.lostAtReboot && !fix.asUser ? ['Lost at the next reboot.'] : [];
  const note = fix?.note === undefined ? [] : [`Note: ${fix.note}.`];
  return [`${title}: found ${found}; wanted ${wanted}.`, why, ...lost, ...note].flatMap(comment);
}

function isForShell({ fix }: ReportedCheck): boolean {
  return fix?.asUser === true && fix.lostAtReboot;
}

/** One line cannot leave the comment: no text of the machine reaches the shell. */
function comment(text: string): string[] {
  return wrap(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), COLUMNS).map((line) => `# ${line}`);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}
