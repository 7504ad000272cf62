import { xml } from '../../text/xml.js';
import type { CaseReport, ConformReport } from './conform.js';

/** JUnit XML: a suite per group. What is absent or undecided is skipped, with its reason. */
export function junitXml({ cases, totals, url }: ConformReport): string {
  const groups = [...new Set(cases.map(({ group }) => group))];
  const counts = countsText(cases.length, totals.fail, totals.absent + totals.skipped);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${xml(`escapement conform: ${url}`)}" ${counts}>`,
    ...groups.flatMap((group) => suite(group, cases)),
    '</testsuites>',
    '',
  ].join('\n');
}

function suite(group: string, all: readonly CaseReport[]): string[] {
  const cases = all.filter((each) => each.group === group);
  const failures = cases.filter(({ result }) => result === 'fail').length;
  const skipped = cases.filter(({ result }) => result === 'absent' || result === 'skipped').length;
  return [
    `  <testsuite name="${xml(group)}" ${countsText(cases.length, failures, skipped)}>`,
    ...cases.map((each) => `    ${testCase(each)}`),
    '  </testsuite>',
  ];
}

function testCase({ id, group, level, says, section, result, reason, exchanges }: CaseReport): string {
  const open = `<testcase classname="${xml(`conform.${group}`)}" name="${xml(id)}"`;
  if (result === 'pass') return `${open}/>`;
  if (result !== 'fail') return `${open}><skipped message="${xml(`${result}: ${reason}`)}"/></testcase>`;
  const shown = exchanges.map(({ sent, got }) => `> ${sent}\n< ${got}\n`).join('');
  const text = `${says}\n${section}\n${shown}`;
  return `${open}><failure message="${xml(reason)}" type="${level}">${xml(text)}</failure></testcase>`;
}

function countsText(tests: number, failures: number, skipped: number): string {
  return `tests="${tests}" failures="${failures}" errors="0" skipped="${skipped}"`;
}
