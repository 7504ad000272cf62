import { loadExperiment, readExperimentSource } from '../../config/load.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import { runText } from '../../report/terminal/run-text.js';
import { writeErr, writeOut } from '../../text/terminal.js';
import type { LoadArgs } from '../commands/load.js';
import { warnIfEmpty } from '../empty-run.js';
import { warn } from '../live-settings.js';
import { loadLevels } from '../load-levels.js';
import { playLoad, refuseLost } from '../load-run.js';
import {
  casesJson,
  casesOf,
  casesText,
  missedText,
  readChecks,
  refuseMissed,
  refuseUnseen,
  writeCiFiles,
} from '../thresholds.js';

/** `escapement load FILE --url URL`: plays the workload of an experiment against a server in real time. */
export async function run(args: LoadArgs): Promise<void> {
  const checks = readChecks(args);
  refuseUnseen(checks);
  const { percentiles } = checks;
  const overrides = [...args.set, ...(await loadOverrides(args))];
  if (args.concurrency !== undefined) {
    await loadLevels(args.concurrency, overrides, { ...args, percentiles }, checks);
    return;
  }
  const experiment = await loadExperiment(args.file, overrides);
  refuseUnknownSenders(checks.thresholds, [experiment], 'threshold');
  const { result, assumed, notes, warnings, lost } = await playLoad(experiment, { ...args, percentiles });
  warnIfEmpty(result.summary);
  const cases = casesOf(checks, result);
  if (args.json) writeOut(`${JSON.stringify({ ...result.summary, ...casesJson(cases) })}\n`);
  else writeOut(runText(result) + casesText(cases));
  if (!args.quiet) writeErr(assumed + notes);
  warn(warnings);
  writeCiFiles(checks, 'load', experiment.name, cases);
  refuseLost(lost, missedText(cases));
  refuseMissed(cases);
}

interface OverrideArgs {
  readonly file: string;
  readonly seed: number | undefined;
  readonly duration: string | undefined;
  readonly concurrency: string | undefined;
}

/** What the other flags override. */
async function loadOverrides({ file, seed, duration, concurrency }: OverrideArgs): Promise<string[]> {
  return [
    ...(duration === undefined ? [] : await durationOverrides(file, duration, concurrency !== undefined)),
    ...(seed === undefined ? [] : [`seed=${seed}`]),
  ];
}

/** One section, or each of several. */
async function durationOverrides(file: string, duration: string, single: boolean): Promise<string[]> {
  const { workload } = (await readExperimentSource(file)).tree;
  if (single || !Array.isArray(workload)) return [`workload.duration=${duration}`];
  return workload.map((_, section) => `workload.${section}.duration=${duration}`);
}
