import type { SweepResults } from '../../record/results.js';
import { checkThreshold, type Threshold, type ThresholdResult } from '../../record/threshold.js';
import { plural } from '../../text/words.js';
import { xml } from '../../text/xml.js';

/** One threshold checked against one run. */
export interface ThresholdCase extends ThresholdResult {
  /** The run among several, e.g. `slo=10ms seed=1`; empty for the only one. */
  readonly run: string;
  /** Why the run has no figures; absent if it has. */
  readonly error?: string;
}

/** Each threshold with each run of a sweep, in the order of the thresholds, then of the grid. */
export function sweepCases(thresholds: readonly Threshold[], { cells }: SweepResults): ThresholdCase[] {
  return thresholds.flatMap((threshold) =>
    cells.map((cell): ThresholdCase => {
      if (cell.status === 'done') return { run: cell.id, ...checkThreshold(threshold, cell.result.summary) };
      const error = `${cell.code}: ${cell.message}`;
      return { run: cell.id, threshold: threshold.text, ok: false, actual: null, measured: 'failed', error };
    }),
  );
}

/**
 * A line for each threshold: `✓ p99<100ms: 94 ms`. With several runs, the number that meet it, and a line for each that
 * does not: `✗ p99<100ms: 102 ms with slo=100ms seed=1`.
 */
export function thresholdLines(cases: readonly ThresholdCase[]): string[] {
  const thresholds = [...new Set(cases.map(({ threshold }) => threshold))];
  return thresholds.flatMap((wanted) => {
    const own = cases.filter(({ threshold }) => threshold === wanted);
    if (own.every(({ run }) => run === '')) return own.map(lineOf);
    const missing = own.filter(({ ok }) => !ok);
    if (missing.length === 0) return [`✓ ${wanted}: in all ${own.length} runs`];
    return [
      `✗ ${wanted}: missed in ${missing.length} of ${plural(own.length, 'run')}`,
      ...missing.map(lineOf),
    ];
  });
}

/** One line: the result of a threshold for a run. */
function lineOf({ threshold, ok, measured, run, error }: ThresholdCase): string {
  const at = run === '' ? '' : ` with ${run}`;
  return `${ok ? '✓' : '✗'} ${threshold}: ${error === undefined ? measured : `failed (${error})`}${at}`;
}

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
