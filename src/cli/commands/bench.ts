import { join } from 'node:path';
import type { Argv } from 'yargs';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { usableCores } from '../../base/limits/usable.js';
import { NS_PER_S } from '../../base/units.js';
import { PROVIDERS } from '../../live/device.js';
import { terminalWidth, writeErr, writeOut } from '../../text/terminal.js';
import { json, plugin, quiet } from '../common-options.js';
import { interruptible } from '../interruption.js';
import {
  type ArgsOf,
  choice,
  choiceOr,
  durationOr,
  group,
  list,
  text,
  toggle,
  usageError,
  whole,
  wholeNumber,
  wholeOr,
} from '../options.js';
import type { Progress } from '../progress.js';
import { packageVersion } from '../version.js';

/** Even, since --vary runs through the values and back. */
const DEFAULT_TRIALS = 6;
const DEFAULT_SCALING_TRIALS = 3;
/** A typing error would otherwise keep the machine busy for hours. */
const MOST_GPUS = 1024;

export const builder = (yargs: Argv) =>
  yargs
    .options({
      ...group('Subject', {
        repository: text('Models to measure, as NAME/VERSION/model.onnx'),
        experiment: text('Experiment file: its settings; without --repository also its models and their mix'),
        device: text(
          `Execution provider: ${PROVIDERS.join(', ')}; with --scaling also simulated:PROFILE`,
          'cpu, or live.device of the experiment',
        ),
        adapter: wholeOr(0, 0, 'Index of the GPU, where the provider can choose one'),
        set: list('Override a setting, e.g. runtime.intraOpThreads=2 or slo=1s'),
        plugin,
      }),
      ...group('Measurement', {
        vary: text(
          'Repeat everything for each value of a key, e.g. runtime.intraOpThreads=1,2; batchSize=1,2,4 fixes the batch',
        ),
        protocol: choiceOr(['http', 'grpc'], 'http', 'Protocol of the clients'),
        concurrency: whole(1, 'Closed-loop clients', 'two full batches of each model, at least 16'),
        trials: whole(1, 'Trials of each stage', '6; 3 with --scaling'),
        duration: durationOr('2s', 'Length of a trial, after a warm-up'),
      }),
      ...group('Scaling', {
        scaling: choice(
          ['strong', 'weak', 'both'],
          'Measure how requests/s grow with GPUs: with the same clients (strong), or the same per GPU (weak)',
        ),
        gpus: text('Numbers of GPUs; the smallest is the baseline', '1,2,4'),
        emulate: toggle("Emulate GPUs by the times of the models' profiles"),
        tensors: choiceOr(
          ['real', 'none'],
          'real',
          'With emulated GPUs: tensors of their real sizes, or none, which leaves the scheduler',
        ),
      }),
      ...group('Output', {
        json,
        out: text('Folder for the result as JSON'),
        quiet,
      }),
    })
    .example([
      ['$0 bench --repository models', ''],
      ['$0 bench --repository models --vary runtime.intraOpThreads=1,2,4 --out out/bench', ''],
      ['$0 bench --scaling both --gpus 1,2,4,8 --device simulated:PROFILE.json', ''],
    ])
    .epilogue(
      [
        'Stages, one after the other, with the same models, tensors and mix:\n' +
          '  IO         frontend, decoding, scheduler, transport; the device takes no time\n' +
          '  SYNTHETIC  the device alone, full batches back to back\n' +
          '  FULL       the whole server on the device',
        'The clients are closed loops in this process; the result says how busy it was, since saturated clients measure ' +
          'themselves. ± is the spread of the trials. --vary runs through the values and back, half of the trials each ' +
          'way, so that a machine that slows down favors none.',
        '--scaling runs clients, controller and GPUs in one process, in real time:\n' +
          '  strong  the same models and clients for any number of GPUs\n' +
          '  weak    as many models and clients per GPU\n' +
          'Efficiency is requests/s per GPU, relative to the fewest GPUs.',
      ].join('\n\n'),
    );

type BenchArgs = ArgsOf<typeof builder>;

export async function handler(args: BenchArgs): Promise<void> {
  checkScalingFlags(args);
  const { scaling, out, json } = args;
  if (args.duration <= 0) throw usageError('--duration: must be longer than 0s');
  const file = out === undefined ? null : join(out, scaling === undefined ? 'bench.json' : 'scaling.json');
  if (file !== null) checkWritable(file);
  const { result, text } = await (scaling === undefined ? stages(args) : scale(args, scaling));
  if (file !== null) writeWhole(file, `${JSON.stringify(result, null, 2)}\n`);
  writeOut(json ? `${JSON.stringify(result)}\n` : text);
  if (file !== null && !json) writeOut(`\nresult: ${file}\n`);
}

async function stages(args: BenchArgs) {
  const { parseVary } = await import('../../tools/bench/vary.js');
  const { protocol, set } = args;
  const vary = args.vary === undefined ? null : parseVary(args.vary);
  const { bench } = await import('../../tools/bench/bench.js');
  const { openSubject } = await import('../bench-subject.js');
  const result = await attended(args, DEFAULT_TRIALS, (options, say) =>
    bench({
      ...options,
      vary,
      protocol,
      open: (overrides) => openSubject({ ...args, set: [...set, ...overrides] }, say),
    }),
  );
  const { benchText } = await import('../../tools/bench/text.js');
  return { result, text: benchText(result, terminalWidth()) };
}

async function scale(args: BenchArgs, mode: NonNullable<BenchArgs['scaling']>) {
  const modes = mode === 'both' ? (['strong', 'weak'] as const) : [mode];
  const gpus = parseGpus(args.gpus ?? '1,2,4');
  const { measureScaling, scalingText } = await import('../../tools/bench/scaling.js');
  const { openScalingSubject } = await import('../bench-subject.js');
  const result = await attended(args, DEFAULT_SCALING_TRIALS, async (options, say) => {
    const subject = await openScalingSubject(args, gpus[gpus.length - 1], say);
    return measureScaling(subject, { ...options, modes, gpus });
  });
  return { result, text: scalingText(result, terminalWidth()) };
}

/** Throws `E_USAGE` for flags valid only with, or only without, `--scaling`. */
function checkScalingFlags({ scaling, gpus, emulate, tensors, vary, protocol }: BenchArgs): void {
  const misplaced =
    scaling === undefined
      ? [gpus !== undefined && '--gpus', emulate && '--emulate', tensors === 'none' && '--tensors none']
      : [vary !== undefined && '--vary', protocol !== 'http' && '--protocol'];
  const flag = misplaced.find((name) => name !== false);
  const place = scaling === undefined ? 'requires --scaling' : 'cannot be combined with --scaling';
  if (flag !== undefined) throw usageError(`${flag} ${place}`);
}

/** Parses `4,1,2` as 1, 2, 4. Throws `E_USAGE`. */
function parseGpus(text: string): number[] {
  const counts = text.split(',').map((one) => wholeNumber(one, '--gpus', 1));
  const unique = [...new Set(counts)].sort((a, b) => a - b);
  const problems = [
    unique.length < counts.length && 'duplicate number',
    unique.length < 2 && 'at least two numbers are needed',
    unique[unique.length - 1] > MOST_GPUS && `at most ${MOST_GPUS} GPUs`,
  ];
  const problem = problems.find((found) => found !== false);
  if (problem === undefined) return unique;
  throw usageError(`--gpus ${text}: ${problem}, e.g. --gpus 1,2,4`);
}

interface CommonOptions {
  readonly trials: number;
  readonly clients: number | null;
  readonly seconds: number;
  readonly cores: number;
  readonly version: string;
  onProgress(fraction: number, next: string): void;
}

/** Runs a long task with progress, until done or Ctrl-C. `say` gets lines for the operator. */
async function attended<T>(
  { trials, concurrency, duration, quiet }: BenchArgs,
  defaultTrials: number,
  work: (options: CommonOptions, say: (what: string) => void) => Promise<T>,
): Promise<T> {
  const { openProgress } = await import('../progress.js');
  let progress: Progress | undefined;
  const said = new Set<string>();
  const say = (what: string) => {
    // Each value of --vary would repeat much of it.
    if (!quiet && !said.has(what)) writeErr(`bench: ${what}\n`);
    said.add(what);
  };
  const options = {
    trials: trials ?? defaultTrials,
    clients: concurrency ?? null,
    seconds: duration / NS_PER_S,
    cores: usableCores(),
    version: packageVersion(),
    onProgress: (fraction: number, next: string) => {
      progress ??= openProgress('bench', quiet);
      progress.update(fraction, next);
    },
  };
  return interruptible(
    () => work(options, say),
    () => 'nothing was written',
  ).finally(() => progress?.stop());
}
