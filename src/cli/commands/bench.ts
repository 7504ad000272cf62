import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { BENCH_FILE, type BenchResult } from '../../bottleneck/result.js';
import { SCALING_FILE } from '../../bottleneck/scaling/result.js';
import { parseVary } from '../../bottleneck/vary.js';
import { EscapementError } from '../../core/errors.js';
import { checkWritable } from '../../files/output-file.js';
import { PROVIDERS } from '../../live/device.js';
import { manyValues, oneValue, oneValueOr, wholeNumber } from '../args.js';
import {
  type Attendant,
  benchScaling,
  checkScalingFlags,
  SCALING_EPILOGUE,
  type ScalingArgs,
  scalingFlags,
} from '../bench-scaling.js';
import { openSubject, type SubjectArgs } from '../bench-subject.js';
import { EXIT_INTERRUPTED } from '../exit-codes.js';
import { openProgress, type Progress } from '../progress.js';
import { terminalWidth } from '../text-layout.js';
import { packageVersion } from '../version.js';

/** As many on the way there as back. */
const DEFAULT_TRIALS = '6';
const PROTOCOLS = ['http', 'grpc'] as const;

/** `escapement bench`: which part of a server is the narrowest, and what to try next. */
export function benchCommand(cli: Argv): void {
  cli.command(
    'bench',
    'Find the bottleneck of a server: IO, the device, or what lies between',
    (command) =>
      command
        .options({
          repository: oneValue({ describe: 'Models to measure: folder of NAME/VERSION/model.onnx' }),
          experiment: oneValue({
            describe: 'Experiment file: its settings; without --repository also its models and their mix',
          }),
          device: oneValue({
            describe: `Execution provider: ${PROVIDERS.join(', ')}; with --scaling also simulated:PROFILE`,
            defaultDescription: 'cpu, or live.device of the experiment',
          }),
          adapter: oneValueOr('0', 'Index of the GPU, where the provider can choose one'),
          set: manyValues({
            describe: 'Override a setting, e.g. --set runtime.intraOpThreads=2 or --set slo=1s',
          }),
          vary: oneValue({
            describe:
              'Repeat everything for each value of a key, e.g. runtime.intraOpThreads=1,2; batchSize=1,2,4 fixes the batch',
          }),
          protocol: { choices: PROTOCOLS, default: 'http' as const, describe: 'What the clients speak' },
          remote: {
            type: 'boolean',
            default: false,
            describe: 'Measure IO with the GPU in a worker process, too',
          },
          clients: oneValue({
            describe: 'Requests at the same time',
            defaultDescription: 'two full batches of each model, at least 16',
          }),
          trials: oneValue({ describe: 'Trials of each stage', defaultDescription: '6, with --scaling 3' }),
          seconds: oneValueOr('2', 'Length of a trial, after a warm-up'),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          ...scalingFlags,
          out: oneValue({ describe: 'Write the result as JSON, a page and charts to this folder' }),
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 bench --repository models', '')
        .example('$0 bench --repository models --vary runtime.intraOpThreads=1,2,4 --out out/bench', '')
        .example('$0 bench --scaling both --gpus 1,2,4,8 --device simulated:PROFILE.json', '')
        .epilogue(`${EPILOGUE}\n\n${SCALING_EPILOGUE}`),
    async (args) => {
      checkScalingFlags(args);
      if (args.scaling !== undefined) {
        await scale(args, args.scaling);
        return;
      }
      const { benchText } = await import('../../bottleneck/text.js');
      const { writeBench } = await import('../../bottleneck/write.js');
      await tell(await measure(args), args, benchText, writeBench);
    },
  );
}

const EPILOGUE = `Stages, one after the other, with the same models, tensors and mix:
  IO         door, decoding, scheduler, transport; the device takes no time
  SYNTHETIC  the device by itself, full batches one right after the other
  FULL       the whole server on the device
The clients are closed loops in this process: how busy it was is said, as clients that can send no more measure themselves.
± is the scatter of the trials. Without --experiment an action may start up to 1s late (policy.latestDelta).
--vary goes through the values and back, half of the trials each way: a machine that becomes slower favours none.`;

interface BenchArgs extends SubjectArgs, OutputArgs {
  readonly vary: string | undefined;
  readonly protocol: 'http' | 'grpc';
  readonly remote: boolean;
  readonly clients: string | undefined;
  readonly trials: string | undefined;
  readonly seconds: string;
  readonly quiet: boolean;
}

async function measure(args: BenchArgs): Promise<BenchResult> {
  const options = {
    vary: args.vary === undefined ? null : parseVary(args.vary),
    protocol: args.protocol,
    remote: args.remote,
    clients: args.clients === undefined ? null : wholeNumber(args.clients, 'clients', 1),
    trials: wholeNumber(args.trials ?? DEFAULT_TRIALS, 'trials', 1),
    seconds: positiveSeconds(args.seconds),
    cores: availableParallelism(),
    version: packageVersion(),
  };
  if (args.out !== undefined) checkWritable(join(args.out, BENCH_FILE));
  const { bench } = await import('../../bottleneck/bench.js');
  return attended(args.quiet, ({ say, onProgress }) =>
    bench({
      ...options,
      open: (overrides) => openSubject({ ...args, set: [...args.set, ...overrides] }, say),
      onProgress,
    }),
  );
}

async function scale(args: ScaleArgs, mode: NonNullable<ScalingArgs['scaling']>): Promise<void> {
  const seconds = positiveSeconds(args.seconds);
  if (args.out !== undefined) checkWritable(join(args.out, SCALING_FILE));
  const result = await attended(args.quiet, (attendant) => benchScaling(args, mode, seconds, attendant));
  const { scalingText } = await import('../../bottleneck/scaling/text.js');
  const { writeScaling } = await import('../../bottleneck/scaling/write.js');
  await tell(result, args, scalingText, writeScaling);
}

interface ScaleArgs extends ScalingArgs, OutputArgs {
  readonly seconds: string;
  readonly quiet: boolean;
}

interface OutputArgs {
  readonly json: boolean;
  readonly out: string | undefined;
}

/** Prints a result, and writes it where a folder is named. */
async function tell<Result>(
  result: Result,
  { json, out }: OutputArgs,
  textOf: (result: Result, columns: number) => string,
  write: (result: Result, dir: string) => Promise<string>,
): Promise<void> {
  const page = out === undefined ? null : await write(result, out);
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : textOf(result, terminalWidth()));
  if (page !== null && !json) process.stdout.write(`\nreport: ${page}\n`);
}

/** Runs something long: tells how far it is, and ends at Ctrl-C. */
async function attended<T>(quiet: boolean, work: (attendant: Attendant) => Promise<T>): Promise<T> {
  const interrupted = () => {
    process.stderr.write('escapement: interrupted: nothing was written\n');
    process.exit(EXIT_INTERRUPTED);
  };
  process.once('SIGINT', interrupted);
  let progress: Progress | undefined;
  const said = new Set<string>();
  try {
    return await work({
      say: (what) => {
        // Each value of --vary would say much the same.
        if (!quiet && !said.has(what)) process.stderr.write(`bench: ${what}\n`);
        said.add(what);
      },
      onProgress: (fraction, next) => {
        progress ??= openProgress('bench', quiet);
        progress.update(fraction, next);
      },
    });
  } finally {
    progress?.stop();
    process.off('SIGINT', interrupted);
  }
}

function positiveSeconds(text: string): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new EscapementError(
    'E_USAGE',
    `--seconds ${text}: write a number of seconds above 0, such as 2 or 0.5`,
  );
}
