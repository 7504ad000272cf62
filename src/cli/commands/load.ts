import type { Argv } from 'yargs';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import { runText } from '../../report/terminal/run-text.js';
import { writeErr, writeOut } from '../../text/terminal.js';
import {
  experimentFile,
  json,
  overrideFlags,
  overridesOf,
  quiet,
  thresholdFlags,
  trustFlags,
} from '../common-options.js';
import { type ArgsOf, group, required, text, toggle, whole } from '../options.js';
import { warnIfEmpty } from '../run-folder.js';
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

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Server', {
        url: required(text('http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS')),
        connections: whole(1, 'Maximum number of connections', '256; 1 for gRPC'),
        retry: toggle(
          'Send requests again, within their SLO, that were answered with 503 (gRPC: UNAVAILABLE) or not at all; counted apart',
        ),
        'token-file': text('File with the token that the server requires'),
      }),
      ...trustFlags,
      ...overrideFlags,
      ...group('Experiment', {
        duration: text('Override the duration of every workload section, e.g. 30s'),
        concurrency: text(
          'Replace the arrivals by this many clients, each of which sends its next request when the last is ' +
            'answered; several levels: 1,2,4,8',
        ),
        payload: text(
          'Real inputs: a .json, .npy or raw file, or a folder of them (or one folder per model), used in turn',
        ),
      }),
      ...group('Output', {
        json,
        out: text('Also write summary and request log to this folder'),
        quiet,
      }),
      ...thresholdFlags,
    })
    .example([
      ['$0 load run.yaml --url http://127.0.0.1:8000 --out out/load', ''],
      ['$0 load run.yaml --url http://127.0.0.1:8000 --concurrency 1,2,4,8 --payload images', ''],
      ["$0 load run.yaml --url grpc://127.0.0.1:8001 --duration 10s --threshold 'p99<100ms'", ''],
    ])
    .epilogue(
      'Exit code 49: the server left requests unanswered; the message, and generator.unanswered in JSON, tell those that were never sent from those that were.',
    );

type Args = ArgsOf<typeof builder>;

/** `escapement load FILE --url URL`: plays the workload of an experiment against a server in real time. */
export async function handler(args: Args): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { warn } = await import('../live-settings.js');
  const { loadLevels } = await import('../load-levels.js');
  const { playLoad, refuseLost } = await import('../load-run.js');
  const checks = readChecks(args);
  refuseUnseen(checks);
  const { percentiles } = checks;
  const { set, seed } = args;
  const overrides = overridesOf({ set: [...set, ...(await durationOverrides(args))], seed });
  if (args.concurrency !== undefined) {
    await loadLevels(args.concurrency, overrides, { ...args, percentiles }, checks);
    return;
  }
  const experiment = await loadExperiment(args.file, overrides);
  refuseUnknownSenders(checks.thresholds, [experiment], 'threshold');
  const { result, assumed, notes, warnings, lost } = await playLoad(experiment, { ...args, percentiles });
  warnIfEmpty(result);
  const cases = casesOf(checks, result);
  if (args.json) writeOut(`${JSON.stringify({ ...result.summary, ...casesJson(cases) })}\n`);
  else writeOut(runText(result) + casesText(cases));
  if (!args.quiet) writeErr(assumed + notes);
  warn(warnings);
  writeCiFiles(checks, 'load', experiment.name, cases);
  refuseLost(lost, missedText(cases));
  refuseMissed(cases);
}

/** Applies `--duration` to a single section, or to each of several. */
async function durationOverrides({ file, duration, concurrency }: Args): Promise<string[]> {
  if (duration === undefined) return [];
  const { readExperimentSource } = await import('../../config/load.js');
  const { workload } = (await readExperimentSource(file)).tree;
  if (concurrency !== undefined || !Array.isArray(workload)) return [`workload.duration=${duration}`];
  return workload.map((_, section) => `workload.${section}.duration=${duration}`);
}
