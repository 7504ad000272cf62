import { styleText } from 'node:util';
import { hanging } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { wrap } from '../../text/wrap.js';
import type { Group, Level } from './case.js';
import type { CaseReport, ConformReport } from './conform.js';
import type { Result } from './finding.js';

interface TextOptions {
  readonly columns: number;
  readonly colour: boolean;
}

const HEADINGS: Readonly<Record<Group, string>> = {
  http: 'Core over HTTP',
  errors: 'Errors over HTTP',
  binary: 'Binary tensor data',
  grpc: 'Core over gRPC',
  statistics: 'Statistics',
  configuration: 'Model configuration',
  repository: 'Model repository',
  classification: 'Classification',
  senders: 'Priorities and tenants',
  robustness: 'Robustness',
};

const LEVELS: Readonly<Record<Level, string>> = {
  required: 'required',
  extension: 'required by the extension',
  optional: 'optional',
  advice: 'advice',
};

const INDENT = 4;
const LABEL = 9;
const MARGIN = INDENT + LABEL;
const PAINT = { pass: 'green', fail: 'red', absent: 'dim', skipped: 'dim' } as const;
const SIGNS: Readonly<Record<Result, string>> = { pass: '✔', fail: '✘', absent: '–', skipped: '–' };

/** The report as text: a line for each case, and below those that failed what shows it. */
export function reportText(report: ConformReport, options: TextOptions): string {
  const { cases } = report;
  const widest = Math.max(0, ...cases.map(({ id }) => id.length));
  const groups = [...new Set(cases.map(({ group }) => group))].flatMap((group) => [
    '',
    HEADINGS[group],
    ...cases.filter((each) => each.group === group).flatMap((each) => caseLines(each, widest, options)),
  ]);
  return [...wrap(headText(report), options.columns), ...groups, '', ...totalLines(report, options), ''].join(
    '\n',
  );
}

function headText({ url, grpc, server, model, version }: ConformReport): string {
  const asked = `model ${model}${version === null ? '' : `, version ${version}`}`;
  return `${url}${grpc === null ? '' : ` and gRPC ${grpc}`}: ${server}, ${asked}`;
}

function caseLines(one: CaseReport, widest: number, options: TextOptions): string[] {
  const { id, level, says, section, result, reason, exchanges } = one;
  const { columns } = options;
  const label = `  ${mark(one, options)} ${id.padEnd(widest)}  `;
  const indent = INDENT + widest + 2;
  const text =
    result === 'pass' ? says : result === 'fail' ? `${says} (${LEVELS[level]})` : `${result}: ${reason}`;
  const [first = '', ...more] = wrap(text, Math.max(30, columns - indent));
  const lines = [`${label}${first}`, ...more.map((line) => `${' '.repeat(indent)}${line}`)];
  if (result !== 'fail') return lines;
  const labelled = (name: string, value: string) =>
    hanging(`${' '.repeat(INDENT)}${name}`, value, MARGIN, columns);
  return [
    ...lines,
    ...labelled('found', reason),
    ...labelled('section', section),
    ...exchanges.flatMap(({ sent, got }) => [...labelled('sent', sent), ...labelled('got', got)]),
  ];
}

function totalLines({ totals, failed, advised }: ConformReport, { columns }: TextOptions): string[] {
  const counts = `${totals.pass} passed, ${totals.fail} failed, ${totals.absent} absent, ${totals.skipped} skipped.`;
  const verdict =
    failed.length > 0
      ? `The server does not conform: ${plural(failed.length, 'required case')} failed.`
      : totals.pass + totals.fail === 0
        ? 'No case could be decided.'
        : 'No required case failed.';
  const advice = advised.length === 0 ? '' : ` Not required, and failed: ${advised.join(', ')}.`;
  return wrap(`${counts} ${verdict}${advice}`, columns);
}

function mark({ result }: CaseReport, { colour }: TextOptions): string {
  const sign = SIGNS[result];
  return colour ? styleText(PAINT[result], sign, { validateStream: false }) : sign;
}
