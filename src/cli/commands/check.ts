import type { Audit } from '../../audit/check-run.js';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { significant } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { json, print } from '../common-options.js';
import { duration, group, required, text, type ValuesOf } from '../options.js';

export const flags = {
  dir: required(text('Folder with run.json, requests.tsv and actions.tsv (--out of simulate, run or load)')),
  ...group('Options', {
    slack: duration.or('0ms', 'Tolerance for action times; for live runs, whose threads wake up late'),
    json,
  }),
};
export const examples = ['check out/azure-run', 'check out/live --slack 2ms'];
export const notes =
  'Recomputes the summary of a run from its logs alone, and checks its actions against the rules. ' +
  'Exit code 5: a figure or rule does not hold.';

/** `escapement check DIR`: verifies the summary of a run against its logs. */
export async function handler({ dir, slack, json }: ValuesOf<typeof flags>): Promise<void> {
  const { checkRun } = await import('../../audit/check-run.js');
  const audit = checkRun(dir, { slackNs: slack });
  print({ json }, audit, () => auditText(audit));
  if (audit.ok) return;
  const isLate = slack === 0 && audit.kind === 'live' && checkRun(dir, { slackNs: 2 * NS_PER_MS }).ok;
  const hint = isLate ? '; threads of a live run wake late, which --slack 2ms allows for' : '';
  throw new EscapementError('E_CHECK', failure(audit) + hint, { file: dir });
}

function auditText({ ok, claims, rules, violations, violationCount, unchecked }: Audit): string {
  const mark = (holds: boolean) => (holds ? '✔' : '✘');
  const claimRows = claims.map(({ figure, claimed, recomputed, ok }) => {
    return [figure, figureText(claimed), figureText(recomputed), mark(ok)];
  });
  const used = rules.filter(({ checked, violations }) => checked + violations > 0);
  const ruleRows = used.map(({ rule, means, checked, violations }) => {
    return [rule, checked, violations, mark(violations === 0), means];
  });
  const lines = violations.map(({ rule, file, line, what }) => `${file}:${line}: ${rule}: ${what}\n`);
  const more = violationCount - violations.length;
  return [
    table([['figure', 'run.json', 'logs', ''], ...claimRows], [0, -1]),
    table([['rule', 'checked', 'broken', '', ''], ...ruleRows], [0, -2, -1]),
    lines.length === 0 ? '' : `${lines.join('')}${more > 0 ? `and ${more} more\n` : ''}`,
    unchecked.map((what) => `not checked: ${what}\n`).join(''),
    ok ? `all ${claims.length} figures and ${ruleRows.length} rules hold\n` : '',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function figureText(value: number | null): string {
  return value === null ? '–' : String(Number.isInteger(value) ? value : significant(value, 7));
}

function failure({ claims, violations, violationCount }: Audit): string {
  const wrong = claims
    .filter(({ ok }) => !ok)
    .map(({ figure, claimed, recomputed }) => {
      return `${figure} (${figureText(claimed)} claimed, ${figureText(recomputed)} found)`;
    });
  const [first] = violations;
  const broken =
    violationCount === 1 ? 'a rule is broken' : `rules are broken ${violationCount} times, first`;
  return [
    ...(wrong.length === 0 ? [] : [`the logs contradict ${wrong.join(', ')}`]),
    ...(first === undefined ? [] : [`${broken} in ${first.file}:${first.line}`]),
  ].join('; ');
}
