import { styleText } from 'node:util';
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
};
const INDENT = 4;
const LABEL = 13;

/** The report as text: one line for each check that passed, and cause and fix for the others. */
export function reportText(report: DoctorReport, options: TextOptions): string {
  const { columns } = options;
  const { required, advice } = report.totals;
  const groups = Object.entries(GROUPS).flatMap(([prefix, heading]) => {
    const members = report.checks.filter(({ id }) => id.startsWith(`${prefix}.`));
    return members.length === 0
      ? []
      : ['', heading, ...members.flatMap((check) => checkLines(check, options))];
  });
  const where = report.container ? ', in a container: kernel settings must be changed on its host' : '';
  const counts =
    `${required.failed} of ${required.ok + required.failed} required checks failed; ` +
    `${advice.failed} of ${advice.ok + advice.failed} recommendations not followed; ` +
    `${required.skipped + advice.skipped} skipped.`;
  return [...wrap(`${subjectOf(report)}${where}`, columns), ...groups, '', ...wrap(counts, columns), ''].join(
    '\n',
  );
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
  const { commands = [], asUser = false, note = '' } = fix ?? {};
  const margin = (i: number) => (i === 0 ? (asUser ? 'your shell' : 'as root') : '').padEnd(LABEL);
  return [
    ...lines,
    ...labelled('wanted', wanted),
    ...labelled('why', why),
    ...commands.map((command, i) => `${' '.repeat(INDENT)}${margin(i)}${command}`),
    ...labelled(commands.length === 0 ? 'do' : 'note', note),
  ];
}

/**
 * A shell script with the commands of all failed checks, to read and then run; advice is commented out. Output of the
 * machine appears only in comments, without line breaks.
 */
export function fixScript(report: DoctorReport): string {
  const steps = report.checks
    .filter(({ status }) => status === 'failed')
    .flatMap(({ title, found, wanted, fix, required }) => {
      const { commands = [], asUser = false, note = '' } = fix ?? {};
      const who = commands.length === 0 ? 'no command fixes this' : asUser ? 'in your own shell' : 'as root';
      const facts = `${title}${required ? '' : ' (advice)'}: found ${found}, wanted ${wanted}; ${who}`;
      const comment = [facts, note].filter((part) => part !== '').join('; ');
      const lines = commands.map((command) => (required ? command : `# ${command}`));
      return ['', `# ${comment.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')}`, ...lines];
    });
  const head = `# Fixes that escapement doctor suggests for a ${subjectOf(report)}.`;
  return ['#!/bin/sh', head, ...steps, ''].join('\n');
}

/** Formats `worker on cuda`. */
function subjectOf({ role, device }: DoctorReport): string {
  return role === 'worker' ? `${role} on ${device}` : role;
}
