import { styleText } from 'node:util';
import { hanging } from '../../text/terminal.js';
import { wrap } from '../../text/wrap.js';
import { joinGpus, rebootText } from './alike.js';
import type { Fix } from './check.js';
import type { DoctorReport, ReportedCheck } from './report.js';

interface TextOptions {
  /** Width that sentences are broken to; commands stay on one line, to be copied. */
  readonly columns: number;
  readonly colour: boolean;
}

/** Headings in their order, by the first part of the ids of checks. */
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

/** The report as text: one line for each check that passed, and for the others the cause and the fix. */
export function reportText(report: DoctorReport, options: TextOptions): string {
  const { role, device, checks, container } = report;
  const joined = joinGpus(checks, ({ status, found, wanted, fix }) => [status, found, wanted, fix?.note]);
  const groups = Object.entries(GROUPS).flatMap(([prefix, heading]) => {
    const members = joined.filter(({ id }) => id.startsWith(`${prefix}.`));
    if (members.length === 0) return [];
    return ['', heading, ...members.flatMap((check) => checkLines(check, options))];
  });
  const where = container ? ', in a container: kernel settings must be changed on its host' : '';
  const head = `${role}${role === 'worker' ? ` on ${device}` : ''}${where}`;
  return [...wrap(head, options.columns), ...groups, '', ...summary(report, options), ''].join('\n');
}

function checkLines(check: ReportedCheck, options: TextOptions): string[] {
  const { status, title, found, wanted, why, fix, required } = check;
  const failed = status === 'failed';
  const advice = failed && !required ? ' (advice)' : '';
  const [first = '', ...more] = wrap(`${title}${advice}: ${found}`, options.columns - INDENT);
  const lines = [`  ${mark(check, options)} ${first}`, ...more.map((line) => `${' '.repeat(INDENT)}${line}`)];
  if (!failed) return lines;
  return [
    ...lines,
    ...labelled('wanted', wanted, options),
    ...labelled('why', why, options),
    ...(fix === null ? [] : fixLines(fix, options)),
  ];
}

function fixLines({ commands, asUser, lostAtReboot, note }: Fix, options: TextOptions): string[] {
  const label = asUser ? 'your shell' : 'as root';
  const lost = lostAtReboot && !asUser ? 'lost at the next reboot' : '';
  const notes = [lost, note ?? ''].filter((part) => part !== '').join('; ');
  return [
    ...commands.map((command, i) => `${margin(i === 0 ? label : '')}${command}`),
    ...(notes === '' ? [] : labelled(commands.length === 0 ? 'do' : 'note', notes, options)),
  ];
}

function labelled(label: string, text: string, { columns }: TextOptions): string[] {
  return hanging(`${' '.repeat(INDENT)}${label}`, text, INDENT + LABEL, columns);
}

function margin(label: string): string {
  return `${' '.repeat(INDENT)}${label.padEnd(LABEL)}`;
}

/** The last lines: how many failed, and what the next reboot undoes. */
function summary(report: DoctorReport, { columns }: TextOptions): string[] {
  const { totals, checks, lostAtReboot } = report;
  const { required, advice } = totals;
  const asked = required.ok + required.failed;
  const unknown = required.skipped + advice.skipped;
  const lost = rebootText(checks, lostAtReboot);
  return [
    ...wrap(
      `${required.failed} of ${asked} required checks failed; ` +
        `${advice.failed} of ${advice.ok + advice.failed} recommendations not followed; ` +
        `${unknown} skipped.`,
      columns,
    ),
    ...(lost === null ? [] : wrap(lost, columns)),
    ...(required.failed + advice.failed === 0
      ? []
      : ['--fix-script prints all commands as one script to review.']),
  ];
}

function mark({ status, required }: ReportedCheck, { colour }: TextOptions): string {
  const paint = (format: 'green' | 'red' | 'yellow' | 'dim', sign: string) =>
    colour ? styleText(format, sign, { validateStream: false }) : sign;
  if (status === 'ok') return paint('green', '✔');
  if (status === 'skipped') return paint('dim', '–');
  return paint(required ? 'red' : 'yellow', '✘');
}
