import type { Argv } from 'yargs';
import { type Audit, checkRun } from '../../audit/check-run.js';
import type { Claim } from '../../audit/claims.js';
import { EscapementError } from '../../core/errors.js';
import { parseDuration } from '../../experiment/units-text.js';
import { oneValueOr } from '../args.js';
import { table } from '../text-layout.js';

/** `escapement check DIR`: whether the logs of a run bear out its summary. */
export function checkCommand(cli: Argv): void {
  cli.command(
    'check <dir>',
    'Recompute the summary of a run from its logs alone, and check its actions against the rules; status 5 if it fails',
    (command) =>
      command
        .positional('dir', {
          type: 'string',
          demandOption: true,
          describe: 'Folder with run.json, requests.tsv and actions.tsv (--out of simulate, run or load)',
        })
        .options({
          slack: oneValueOr(
            '0ms',
            'How far times of actions may be off; for live runs, whose threads wake late',
          ),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
        })
        .example('$0 check out/azure-run', '')
        .example('$0 check out/live --slack 2ms', ''),
    ({ dir, slack, json }) => {
      const audit = checkRun(dir, { slackNs: slackNs(slack) });
      process.stdout.write(json ? `${JSON.stringify(audit)}\n` : auditText(audit));
      if (!audit.ok) throw new EscapementError('E_CHECK', failure(audit), { file: dir });
    },
  );
}

function slackNs(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new EscapementError(
      'E_USAGE',
      `--slack ${text}: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function auditText({ claims, rules, violations, violationCount, unchecked }: Audit): string {
  const claimRows = claims.map(({ figure, claimed, recomputed, ok }) => [
    figure,
    figureText(claimed),
    figureText(recomputed),
    mark(ok),
  ]);
  const ruleRows = rules
    .filter(({ checked, violations }) => checked + violations > 0)
    .map(({ rule, means, checked, violations }) => [
      rule,
      checked,
      violations,
      mark(violations === 0),
      means,
    ]);
  const lines = violations.map(({ rule, file, line, what }) => `${file}:${line}: ${rule}: ${what}\n`);
  const more = violationCount - violations.length;
  return [
    rightAligned([['figure', 'run.json', 'logs', ''], ...claimRows], [1, 2]),
    rightAligned([['rule', 'checked', 'broken', '', ''], ...ruleRows], [1, 2]),
    lines.length === 0 ? '' : `${lines.join('')}${more > 0 ? `and ${more} more\n` : ''}`,
    unchecked.map((what) => `not checked: ${what}\n`).join(''),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** `table` takes a column for numeric by its last row; these hold numbers as they are read best. */
function rightAligned(rows: readonly (readonly (string | number)[])[], columns: readonly number[]): string {
  const widths = columns.map((column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return table(
    rows.map((row) =>
      row.map((cell, column) => {
        const at = columns.indexOf(column);
        return at < 0 ? cell : String(cell).padStart(widths[at]!);
      }),
    ),
  );
}

function figureText(value: number | null): string {
  return value === null ? '–' : String(Number.isInteger(value) ? value : Number(value.toPrecision(7)));
}

function mark(ok: boolean): string {
  return ok ? '✔' : '✘';
}

function failure({ claims, violations, violationCount }: Audit): string {
  const wrong = claims.filter(({ ok }) => !ok);
  const parts = [
    ...(wrong.length === 0 ? [] : [`the logs do not bear out ${wrong.map(claimText).join(', ')}`]),
    ...(violationCount === 0
      ? []
      : [
          `rules are broken ${violationCount === 1 ? 'once' : `${violationCount} times, first`} in ${violations[0]!.file}:${violations[0]!.line}`,
        ]),
  ];
  return parts.join('; ');
}

function claimText({ figure, claimed, recomputed }: Claim): string {
  return `${figure} (${figureText(claimed)} claimed, ${figureText(recomputed)} found)`;
}
