import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { usableCores } from '../../base/limits/usable.js';
import { NS_PER_S } from '../../base/units.js';
import { terminalWidth, writeErr, writeOut } from '../../text/terminal.js';
import { SCALING_MODES, type ScalingMode } from '../../tools/bench/scaling-result.js';
import { parseVary } from '../../tools/bench/vary.js';
import { openScalingSubject, openSubject } from '../bench-subject.js';
import type { BenchArgs } from '../commands/bench.js';
import { interruptible } from '../interruption.js';
import { wholeNumber } from '../options.js';
import { openProgress, type Progress } from '../progress.js';
import { packageVersion } from '../version.js';

/** Even, since --vary runs through the values and back. */
const DEFAULT_TRIALS = 6;
const DEFAULT_SCALING_TRIALS = 3;
const DEFAULT_GPUS = '1,2,4';
/** A typing error would keep the machine busy for hours. */
const MOST_GPUS = 1024;

/** `escapement bench`: the bottleneck of a server, and what to try next; or how it scales. */
export async function run(args: BenchArgs): Promise<void> {
  checkScalingFlags(args);
  const { scaling, out, json } = args;
  if (args.duration <= 0) throw new EscapementError('E_USAGE', '--duration: must be longer than 0s');
  const file = out === undefined ? null : join(out, scaling === undefined ? 'bench.json' : 'scaling.json');
  if (file !== null) checkWritable(file);
  const { result, text } = await (scaling === undefined ? stages(args) : scale(args, scaling));
  if (file !== null) writeWhole(file, `${JSON.stringify(result, null, 2)}\n`);
  writeOut(json ? `${JSON.stringify(result)}\n` : text);
  if (file !== null && !json) writeOut(`\nresult: ${file}\n`);
}

interface Outcome {
  readonly result: object;
  readonly text: string;
}

async function stages(args: BenchArgs): Promise<Outcome> {
  const { protocol, remote, set } = args;
  const options = {
    ...commonOptions(args, DEFAULT_TRIALS),
    vary: args.vary === undefined ? null : parseVary(args.vary),
    protocol,
    remote,
  };
  const { bench } = await import('../../tools/bench/bench.js');
  const { benchText } = await import('../../tools/bench/text.js');
  const result = await attended(args.quiet, ({ say, onProgress }) => {
    const open = (overrides: readonly string[]) => openSubject({ ...args, set: [...set, ...overrides] }, say);
    return bench({ ...options, open, onProgress });
  });
  return { result, text: benchText(result, terminalWidth()) };
}

async function scale(args: BenchArgs, mode: ScalingMode | 'both'): Promise<Outcome> {
  const modes = mode === 'both' ? SCALING_MODES : [mode];
  const gpus = parseGpus(args.gpus ?? DEFAULT_GPUS);
  const options = { ...commonOptions(args, DEFAULT_SCALING_TRIALS), modes, gpus };
  const { measureScaling } = await import('../../tools/bench/scaling.js');
  const { scalingText } = await import('../../tools/bench/scaling-text.js');
  const result = await attended(args.quiet, async ({ say, onProgress }) => {
    const subject = await openScalingSubject(args, gpus[gpus.length - 1], say);
    return measureScaling(subject, { ...options, onProgress });
  });
  return { result, text: scalingText(result, terminalWidth()) };
}

function commonOptions({ trials, concurrency, duration }: BenchArgs, defaultTrials: number) {
  return {
    trials: trials ?? defaultTrials,
    clients: concurrency ?? null,
    seconds: duration / NS_PER_S,
    cores: usableCores(),
    version: packageVersion(),
  };
}

/** Throws `E_USAGE` for flags that go only with, or only without, `--scaling`. */
function checkScalingFlags({ scaling, gpus, emulate, tensors, vary, remote, protocol }: BenchArgs): void {
  const misplaced =
    scaling === undefined
      ? [gpus !== undefined && '--gpus', emulate && '--emulate', tensors === 'none' && '--tensors none']
      : [vary !== undefined && '--vary', remote && '--remote', protocol !== 'http' && '--protocol'];
  const flag = misplaced.find((name) => name !== false);
  if (flag === undefined) return;
  const place = scaling === undefined ? 'requires --scaling' : 'cannot be combined with --scaling';
  throw new EscapementError('E_USAGE', `${flag} ${place}`);
}

/** `4,1,2` as 1, 2, 4. Throws `E_USAGE`. */
function parseGpus(text: string): number[] {
  const counts = text.split(',').map((one) => wholeNumber(one, '--gpus', 1));
  const unique = [...new Set(counts)].sort((a, b) => a - b);
  const problems: readonly (readonly [boolean, string])[] = [
    [unique.length < counts.length, 'duplicate number'],
    [unique.length < 2, 'at least two numbers are needed'],
    [unique[unique.length - 1] > MOST_GPUS, `at most ${MOST_GPUS} GPUs`],
  ];
  const problem = problems.find(([applies]) => applies)?.[1];
  if (problem === undefined) return unique;
  throw new EscapementError('E_USAGE', `--gpus ${text}: ${problem}, e.g. --gpus 1,2,4`);
}

/** Is notified of the progress of a benchmark. */
interface Attendant {
  /** A line for the operator. */
  say(what: string): void;
  onProgress(fraction: number, next: string): void;
}

/** Runs something long: shows progress, and ends at Ctrl-C. */
async function attended<T>(quiet: boolean, work: (attendant: Attendant) => Promise<T>): Promise<T> {
  let progress: Progress | undefined;
  const said = new Set<string>();
  const attendant: Attendant = {
    say: (what) => {
      // Each value of --vary would say much the same.
      if (!quiet && !said.has(what)) writeErr(`bench: ${what}\n`);
      said.add(what);
    },
    onProgress: (fraction, next) => {
      progress ??= openProgress('bench', quiet);
      progress.update(fraction, next);
    },
  };
  return interruptible(
    () => work(attendant),
    () => 'nothing was written',
  ).finally(() => progress?.stop());
}
