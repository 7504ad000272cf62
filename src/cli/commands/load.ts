import { readFile } from 'node:fs/promises';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { NS_PER_MS } from '../../core/units.js';
import type { Experiment } from '../../experiment/experiment.js';
import { fileProblem } from '../../experiment/files.js';
import { loadExperiment, readExperimentSource } from '../../experiment/load.js';
import { openTarget } from '../../live/load/open-target.js';
import type { LoadTarget, TargetOptions } from '../../live/load/target.js';
import { checkThreshold, parseThreshold } from '../../metrics/threshold.js';
import { summaryText } from '../../report/summary-text.js';
import { type LoadResult, playExperiment } from '../../serving/load-experiment.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';
import { openProgress } from '../progress.js';
import { inRunFolder } from '../run-folder.js';

/** `escapement load FILE --url URL`: plays the workload of an experiment against a server in real time. */
export function loadCommand(cli: Argv): void {
  cli.command(
    'load <file>',
    'Play the workload of an experiment against an Open Inference server; status 49 if it lost requests',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          url: oneValue({
            demandOption: true,
            describe: 'Server: http://HOST:PORT, grpc://HOST:PORT, or https:, grpcs: for TLS',
          }),
          set: manyValues({ describe: 'Override a key, e.g. --set workload.rate=200/s' }),
          seed: oneValue({ describe: 'Override the seed' }),
          duration: oneValue({ describe: 'Override the duration of every workload section, e.g. 30s' }),
          connections: oneValue({
            describe: 'Most connections to the server',
            defaultDescription: '256; gRPC 1',
          }),
          token: oneValue({ describe: 'Token that the server asks for' }),
          ca: oneValue({ describe: 'Check a TLS server against the authority in this file (PEM)' }),
          insecure: { type: 'boolean', default: false, describe: 'Take any certificate of a TLS server' },
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          out: oneValue({ describe: 'Also write summary and request log to this folder' }),
          threshold: manyValues({ describe: "Exit with status 3 unless this holds, e.g. 'p99<100ms'" }),
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 load run.yaml --url http://127.0.0.1:8000 --out out/load', '')
        .example("$0 load run.yaml --url grpc://127.0.0.1:8001 --duration 10s --threshold 'p99<100ms'", ''),
    async (args) => {
      const thresholds = args.threshold.map(parseThreshold);
      const seed = args.seed === undefined ? [] : [`seed=${wholeNumber(args.seed, 'seed', 0)}`];
      const durations = args.duration === undefined ? [] : await durationOverrides(args.file, args.duration);
      const experiment = await loadExperiment(args.file, [...args.set, ...durations, ...seed]);
      const target = await openTarget(args.url as string, await targetOptions(experiment, args));
      try {
        const { result, report } = await run(experiment, target, args);
        if (args.json) process.stdout.write(`${JSON.stringify(result.summary)}\n`);
        else process.stdout.write(summaryText(result));
        if (!args.quiet) process.stderr.write(aboutGenerator(report, target));
        const checks = thresholds.map((threshold) => checkThreshold(threshold, result.summary));
        const missed = checks.filter(({ ok }) => !ok).map(({ text }) => text);
        refuseLost(report, target, missed);
        if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
      } finally {
        target.close();
      }
    },
  );
}

interface LoadArgs {
  readonly quiet: boolean;
  readonly out: string | undefined;
  readonly connections: string | undefined;
  readonly token: string | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
}

async function run(
  experiment: Experiment,
  target: LoadTarget,
  { quiet, out }: LoadArgs,
): Promise<LoadResult> {
  const progress = openProgress('load', quiet);
  const onProgress = (fraction: number) => progress.update(fraction);
  try {
    return await inRunFolder(
      out,
      (outDir) =>
        playExperiment(experiment, target, { onProgress, ...(outDir === undefined ? {} : { outDir }) }),
      ({ result }) => result,
    );
  } finally {
    progress.stop();
  }
}

async function targetOptions(experiment: Experiment, args: LoadArgs): Promise<TargetOptions> {
  const { connections, token, ca, insecure } = args;
  const authority = async (path: string) =>
    readFile(path).catch((error) => Promise.reject(fileProblem(error, path)));
  return {
    models: experiment.models.map(({ name }) => name),
    seed: experiment.seed,
    ...(connections === undefined ? {} : { connections: wholeNumber(connections, 'connections', 1) }),
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca: await authority(ca) }),
    insecure,
  };
}

/** One section, or each of several. */
async function durationOverrides(file: string, duration: string): Promise<string[]> {
  const { workload } = (await readExperimentSource(file)).tree;
  if (!Array.isArray(workload)) return [`workload.duration=${duration}`];
  return workload.map((_, section) => `workload.${section}.duration=${duration}`);
}

/** How far the figures are to be trusted: a generator that lags measures itself. */
function aboutGenerator({ lateness, refused }: LoadResult['report'], { waited }: LoadTarget): string {
  const late = ([50, 99, 100] as const).map((percent) => lateness.percentile(percent) / NS_PER_MS);
  const [p50, p99, max] = late.map((ms) => `${Number(ms.toPrecision(3))} ms`);
  return [
    lateness.count === 0
      ? ''
      : `load: requests were sent p50 ${p50}, p99 ${p99}, max ${max} later than intended\n`,
    waited === 0
      ? ''
      : `load: ${waited} requests waited for a free connection; raise --connections to have none wait\n`,
    refused === 0 ? '' : `load: ${refused} requests were not sent, as too many were unanswered\n`,
  ].join('');
}

/** Throws `E_ANSWERS_LOST` where the server left requests without an answer. */
function refuseLost(
  { givenUp }: LoadResult['report'],
  { lost, problem, name }: LoadTarget,
  missed: readonly string[],
) {
  const parts = [
    ...(lost === 0 ? [] : [`${lost} requests to ${name} were lost with their connection (${problem})`]),
    ...(givenUp === 0 ? [] : [`${givenUp} requests to ${name} were never answered`]),
  ];
  if (parts.length > 0) throw new EscapementError('E_ANSWERS_LOST', [...parts, ...missed].join('; '));
}
