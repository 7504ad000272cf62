import { xml } from '../../text/xml.js';
import type { ThresholdCase } from './cases.js';

/** Content of a file for CI. */
interface ThresholdReport {
  /** `simulate`, `sweep`. */
  readonly command: string;
  /** Name of the experiment. */
  readonly name: string;
  readonly cases: readonly ThresholdCase[];
}

/** JUnit XML: one test case per threshold and run. A missed threshold is a failure, a run without figures an error. */
export function junitXml({ command, name, cases }: ThresholdReport): string {
  const errors = cases.filter(({ error }) => error !== undefined).length;
  const failures = cases.filter(({ ok }) => !ok).length - errors;
  const counts = `tests="${cases.length}" failures="${failures}" errors="${errors}"`;
  const suite = xml(`escapement ${command}: ${name}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="escapement" ${counts}>`,
    `  <testsuite name="${suite}" ${counts}>`,
    ...cases.map((one) => `    ${testCase(name, one)}`),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(name: string, { run, threshold, ok, measured, error }: ThresholdCase): string {
  const open = `<testcase classname="${xml(run === '' ? name : `${name}.${run}`)}" name="${xml(threshold)}"`;
  if (ok) return `${open}><system-out>${xml(measured)}</system-out></testcase>`;
  const [tag, message] = error === undefined ? ['failure', `${threshold}: ${measured}`] : ['error', error];
  return `${open}><${tag} message="${xml(message)}" type="threshold"/></testcase>`;
}
