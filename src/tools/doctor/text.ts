import { styleText } from 'node:util';
import { quoted } from '../../report/reproduce.js';
import { hanging } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import type { DoctorReport, ReportedCheck } from './check.js';

interface TextOptions {
  /** Width at which sentences wrap; commands stay on one line, to be copied. */
  readonly columns: number;
  readonly colour: boolean;
}

/** Headings in order, by the first part of the check ids. */
const GROUPS: Readonly<Record<string, string>> = {
  limits: 'Limits',
  environment: 'Environment',
  cpu: 'CPU',
  runtime: 'Runtime',
  memory: 'Memory',
  gpu: 'GPUs',
  timing: 'Timing (measured now)',
  clock: 'Other machines',
};
const INDENT = 4;
const LABEL = 13;

/** The report as text: one line for each check that passed, and cause and fix for the others. */
export function reportText(report: DoctorReport, options: TextOptions): string {
  const { columns } = options;
  const { required, advice } = report.totals;
  const joined = joinGpus(report.checks, ({ status, found, wanted, fix }) => [
    status,
    found,
    wanted,
    fix?.note,
  ]);
  const groups = Object.entries(GROUPS).flatMap(([prefix, heading]) => {
    const members = joined.filter(({ id }) => id.startsWith(`${prefix}.`));
    return members.length === 0
      ? []
      : ['', heading, ...members.flatMap((check) => checkLines(check, options))];
  });
  const where = report.container ? ', in a container: kernel settings must be changed on its host' : '';
  const counts =
    `${required.failed} of ${required.ok + required.failed} required checks failed; ` +
    `${advice.failed} of ${advice.ok + advice.failed} recommendations not followed; ` +
    `${required.skipped + advice.skipped} skipped.`;
  const lost = rebootText(report);
  const hasFailed = required.failed + advice.failed > 0;
  return [
    ...wrap(`${subjectOf(report)}${where}`, columns),
    ...groups,
    '',
    ...wrap(counts, columns),
    ...(lost === null ? [] : wrap(lost, columns)),
    ...(hasFailed ? ['--fix-script prints all commands as one script to review.'] : []),
    '',
  ].join('\n');
}

function checkLines(check: ReportedCheck, { columns, colour }: TextOptions): string[] {
  const { status, title, found, wanted, why, fix, required } = check;
  const mark = status === 'ok' ? '✔' : status === 'failed' ? '✘' : '–';
  const color = status === 'ok' ? 'green' : status === 'skipped' ? 'dim' : required ? 'red' : 'yellow';
  const advice = status === 'failed' && !required ? ' (advice)' : '';
  const [first = '', ...more] = hanging('', `${title}${advice}: ${found}`, INDENT, columns);
  const painted = colour ? styleText(color, mark, { validateStream: false }) : mark;
  const lines = [`  ${painted} ${first.slice(INDENT)}`, ...more];
  if (status !== 'failed') return lines;
  const labelled = (label: string, text: string) =>
    text === '' ? [] : hanging(`${' '.repeat(INDENT)}${label}`, text, INDENT + LABEL, columns);
  const { commands = [], asUser = false, lostAtReboot = false, note = '' } = fix ?? {};
  const notes = [lostAtReboot && !asUser ? 'lost at the next reboot' : '', note].filter(
    (part) => part !== '',
  );
  const margin = (i: number) => (i === 0 ? (asUser ? 'your shell' : 'as root') : '').padEnd(LABEL);
  return [
    ...lines,
    ...labelled('wanted', wanted),
    ...labelled('why', why),
    ...commands.map((command, i) => `${' '.repeat(INDENT)}${margin(i)}${command}`),
    ...labelled(commands.length === 0 ? 'do' : 'note', notes.join('; ')),
  ];
}

/** Width of comments in the script. */
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

/** A variable set in a script ends with it. */
const PROFILE = `# Adds a line to the file that login shells read, unless it is there. systemd units do not read it.
profile() {
  touch "$HOME/.profile" || return
  grep -qxF -- "$1" "$HOME/.profile" || printf '%s\\n' "$1" >> "$HOME/.profile"
}
`;

/**
 * A POSIX shell script with the commands of all failed checks, to be read before running it; it is safe to repeat. The
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

/** Shell conditional: commands to run unless a condition holds. */
function either(
  condition: string,
  otherwise: string,
  lines: readonly string[],
  checks: readonly ReportedCheck[] = [],
): string[] {
  if (checks.length === 0) return [];
  return ['', `if [ ${condition} ]; then`, `  ${otherwise}`, 'else', ...indented(lines), 'fi'];
}

/** Required checks first, then advice. */
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

/** Comment lines without line breaks inside: no text of the machine reaches the shell. */
function comment(text: string): string[] {
  return wrap(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), COLUMNS).map((line) => `# ${line}`);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}

/** Formats `worker on cuda`. */
function subjectOf({ role, device }: DoctorReport): string {
  return role === 'worker' ? `${role} on ${device}` : role;
}

/** Settings that a reboot undoes, in a sentence; null if there are none. */
function rebootText({ checks, lostAtReboot }: DoctorReport): string | null {
  const lost = joinGpus(
    checks.filter(({ id }) => lostAtReboot.includes(id)),
    () => [],
  );
  if (lost.length === 0) return null;
  return `Lost at every reboot unless set at boot: ${lost.map(({ title }) => title).join('; ')}.`;
}

/**
 * Merges the same check of several GPUs, titled `GPUs 0-7 persistence mode`, with the commands of all; `sameness` is
 * equal for those that belong together. Checks of the same property stay adjacent, passed or failed.
 */
function joinGpus(
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
