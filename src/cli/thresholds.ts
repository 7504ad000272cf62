import { writeWhole } from '../base/files/output-file.js';
import type { Experiment } from '../config/experiment.js';
import { loadExperiment } from '../config/load.js';
import { partNames } from '../config/part-names.js';
import { percentilesOf } from '../record/figures.js';
import { parseThreshold, refuseUnknownParts, type Threshold } from '../record/threshold.js';
import { junitXml, type ThresholdCase, thresholdLines } from '../report/thresholds/cases.js';
import { plural } from '../text/words.js';
import { type ciFlags, type overrideFlags, overridesOf } from './common-options.js';
import type { ValuesOf } from './options.js';
import { checkOutputFlags } from './output-flags.js';

type CiFiles = ValuesOf<ReturnType<typeof ciFlags>>;

/** Checks of a command after its runs. */
export interface Checks extends CiFiles {
  readonly thresholds: readonly Threshold[];
  /** Percentiles that its runs must compute. */
  readonly percentiles: readonly number[];
}

interface CheckArgs extends CiFiles {
  readonly file: string;
  readonly threshold: readonly string[];
}

/** Reads the flags of a command on a file. Throws `E_USAGE`, and `E_FILE_WRITE` before there is anything to lose. */
export function readChecks({ file, threshold, junit }: CheckArgs): Checks {
  const thresholds = threshold.map((text) => parseThreshold(text));
  checkOutputFlags({ junit }, [file]);
  const percentiles = percentilesOf(thresholds.map(({ metric }) => metric));
  return { thresholds, percentiles, junit };
}

/** Experiment of a command with its checks. */
export interface CheckedExperiment {
  readonly experiment: Experiment;
  readonly checks: Checks;
}

/**
 * Experiment of a command with the overrides of its flags, and those of the environment. Throws coded errors of both,
 * also for a threshold on a part that the experiment does not have.
 */
export async function openChecked(
  args: CheckArgs & ValuesOf<typeof overrideFlags>,
  environment: Parameters<typeof loadExperiment>[3] = [],
): Promise<CheckedExperiment> {
  const checks = readChecks(args);
  const experiment = await loadExperiment(args.file, overridesOf(args), [], environment);
  refuseUnknownParts(checks.thresholds, [partNames(experiment)], 'threshold');
  return { experiment, checks };
}

/** Writes the file requested by `--junit`. Throws `E_FILE_WRITE`. */
export function writeJunit(
  { junit }: CiFiles,
  command: string,
  name: string,
  cases: readonly ThresholdCase[],
): void {
  if (junit !== undefined) writeWhole(junit, junitXml({ command, name, cases }));
}

/** Results for stdout: one line per threshold. */
export function casesText(cases: readonly ThresholdCase[]): string {
  return thresholdLines(cases)
    .map((line) => `${line}\n`)
    .join('');
}

/** Results for JSON, with the run if there are several; empty without checks. */
export function casesJson(cases: readonly ThresholdCase[]): {
  thresholds?: readonly Partial<ThresholdCase>[];
} {
  if (cases.length === 0) return {};
  return { thresholds: cases.map(({ run, ...found }) => (run === '' ? found : { run, ...found })) };
}

/** Missed thresholds, on one line; empty if there are none. */
export function missedText(cases: readonly ThresholdCase[]): string {
  const missed = cases.filter(({ ok }) => !ok);
  if (missed.every(({ run }) => run === ''))
    return missed.map(({ threshold, measured }) => `${threshold}: ${measured}`).join('; ');
  const texts = [...new Set(missed.map(({ threshold }) => threshold))];
  return `${texts.join(', ')}: missed in ${plural(new Set(missed.map(({ run }) => run)).size, 'run')}`;
}
