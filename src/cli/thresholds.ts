import { EscapementError } from '../base/errors.js';
import { appendText, checkAppendable, checkWritable, writeWhole } from '../base/files/output-file.js';
import type { Experiment } from '../config/experiment.js';
import { partNames } from '../config/part-names.js';
import { figureOf, percentilesOf } from '../record/figures.js';
import type { RunResult } from '../record/results.js';
import { checkThreshold, parseThreshold, refuseUnknownParts, type Threshold } from '../record/threshold.js';
import type { ThresholdCase } from '../report/thresholds/cases.js';
import { junitXml } from '../report/thresholds/junit.js';
import { thresholdsMarkdown } from '../report/thresholds/markdown.js';
import { thresholdLines } from '../report/thresholds/text.js';
import { plural } from '../text/words.js';
import type { ciFlags } from './common-options.js';
import { usageError, type ValuesOf } from './options.js';
import { checkHolds, checkOutputFlags } from './output-flags.js';

type CiFiles = ValuesOf<typeof ciFlags>;

/** Checks of a command after its runs. */
export interface Checks extends CiFiles {
  readonly thresholds: readonly Threshold[];
  /** Percentiles that its runs must compute. */
  readonly percentiles: readonly number[];
}

/** Reads the flags of a command on a file. Throws `E_USAGE`, and `E_FILE_WRITE` before there is anything to lose. */
export function readChecks(
  flags: CiFiles & { readonly file: string; readonly threshold: readonly string[] },
): Checks {
  const thresholds = flags.threshold.map(parseThreshold);
  checkOutputFlags({ junit: flags.junit, markdown: flags.markdown }, [flags.file]);
  checkCiFiles(flags, thresholds.length, 'threshold');
  const { junit, markdown } = flags;
  return { thresholds, percentiles: percentilesOf(thresholds.map(({ metric }) => metric)), junit, markdown };
}

/** Throws `E_USAGE` for a threshold that a client cannot check, before the run. */
export function refuseUnseen({ thresholds }: Checks): void {
  const unseen = thresholds.find(({ metric }) => figureOf(metric)?.ofScheduler === true);
  if (unseen === undefined) return;
  throw usageError(
    `--threshold '${unseen.text}': only the scheduler knows ${unseen.metric}, and load measures as a client`,
  );
}

/** Throws `E_USAGE` for a threshold on a part that the experiment does not have, before the run. */
export function refuseUnknown({ thresholds }: Checks, experiment: Experiment): void {
  refuseUnknownParts(thresholds, [partNames(experiment)], 'threshold');
}

/** Throws errors of `--junit` and `--markdown`; `count`: number of flags that produce their content. */
export function checkCiFiles({ junit, markdown }: CiFiles, count: number, flag: string): void {
  const given = junit !== undefined ? 'junit' : markdown !== undefined ? 'markdown' : null;
  if (count === 0 && given !== null) throw usageError(`--${given} requires --${flag}`);
  if (junit !== undefined) checkHolds('XML', 'junit', junit);
  if (markdown !== undefined) checkHolds('Markdown', 'markdown', markdown);
  if (junit !== undefined) checkWritable(junit);
  if (markdown !== undefined) checkAppendable(markdown);
}

/** Checks the thresholds of a single run. */
export function casesOf({ thresholds }: Checks, { summary }: Pick<RunResult, 'summary'>): ThresholdCase[] {
  return thresholds.map((threshold) => ({ run: '', ...checkThreshold(threshold, summary) }));
}

/** Writes the files requested by the flags. Throws `E_FILE_WRITE`. */
export function writeCiFiles(
  { junit, markdown }: CiFiles,
  command: string,
  name: string,
  cases: readonly ThresholdCase[],
): void {
  const report = { command, name, cases };
  if (junit !== undefined) writeWhole(junit, junitXml(report));
  if (markdown !== undefined) appendText(markdown, thresholdsMarkdown(report));
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
  const [first] = missed;
  if (first === undefined) return '';
  const runs = new Set(missed.map(({ run }) => run)).size;
  if (first.run !== '') {
    const texts = [...new Set(missed.map(({ threshold }) => threshold))];
    return `${texts.join(', ')}: missed in ${plural(runs, 'run')}`;
  }
  return missed.map(({ threshold, measured }) => `${threshold}: ${measured}`).join('; ');
}

/** Throws `E_THRESHOLD` if a threshold was missed. */
export function refuseMissed(cases: readonly ThresholdCase[]): void {
  const missed = missedText(cases);
  if (missed !== '') throw new EscapementError('E_THRESHOLD', missed);
}
