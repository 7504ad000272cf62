import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable } from '../../base/files/output-file.js';
import { usableCores } from '../../base/limits/usable.js';
import { NS_PER_S } from '../../base/units.js';
import { terminalWidth, writeErr, writeOut } from '../../text/terminal.js';
import { BENCH_FILE, type BenchResult } from '../../tools/bench/result.js';
import { SCALING_FILE } from '../../tools/bench/scaling/result.js';
import { parseVary } from '../../tools/bench/vary.js';
import { type Attendant, benchScaling, checkScalingFlags, type ScalingArgs } from '../bench-scaling.js';
import { openSubject } from '../bench-subject.js';
import type { BenchArgs } from '../commands/bench.js';
import { interruptible } from '../interruption.js';
import { openProgress, type Progress } from '../progress.js';
import { packageVersion } from '../version.js';

/** Even, since --vary runs through the values and back. */
const DEFAULT_TRIALS = 6;

/** `escapement bench`: the bottleneck of a server, and what to try next. */
export async function run(args: BenchArgs): Promise<void> {
  checkScalingFlags(args);
  if (args.scaling !== undefined) {
    await scale(args, args.scaling);
    return;
  }
  const { benchText } = await import('../../tools/bench/text.js');
  const { writeBench } = await import('../../tools/bench/write.js');
  await tell(await measure(args), args, benchText, writeBench);
}

async function measure(args: BenchArgs): Promise<BenchResult> {
  const options = {
    vary: args.vary === undefined ? null : parseVary(args.vary),
    protocol: args.protocol,
    remote: args.remote,
    clients: args.concurrency ?? null,
    trials: args.trials ?? DEFAULT_TRIALS,
    seconds: secondsOf(args),
    cores: usableCores(),
    version: packageVersion(),
  };
  if (args.out !== undefined) checkWritable(join(args.out, BENCH_FILE));
  const { bench } = await import('../../tools/bench/bench.js');
  return attended(args.quiet, ({ say, onProgress }) =>
    bench({
      ...options,
      open: (overrides) => openSubject({ ...args, set: [...args.set, ...overrides] }, say),
      onProgress,
    }),
  );
}

async function scale(args: BenchArgs, mode: NonNullable<ScalingArgs['scaling']>): Promise<void> {
  const seconds = secondsOf(args);
  if (args.out !== undefined) checkWritable(join(args.out, SCALING_FILE));
  const result = await attended(args.quiet, (attendant) => benchScaling(args, mode, seconds, attendant));
  const { scalingText } = await import('../../tools/bench/scaling/text.js');
  const { writeScaling } = await import('../../tools/bench/scaling/write.js');
  await tell(result, args, scalingText, writeScaling);
}

interface OutputArgs {
  readonly json: boolean;
  readonly out: string | undefined;
}

/** Prints a result, and writes it to the folder of --out. */
async function tell<Result>(
  result: Result,
  { json, out }: OutputArgs,
  textOf: (result: Result, columns: number) => string,
  write: (result: Result, dir: string) => Promise<string>,
): Promise<void> {
  const page = out === undefined ? null : await write(result, out);
  writeOut(json ? `${JSON.stringify(result)}\n` : textOf(result, terminalWidth()));
  if (page !== null && !json) writeOut(`\nreport: ${page}\n`);
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

function secondsOf({ duration }: BenchArgs): number {
  if (duration > 0) return duration / NS_PER_S;
  throw new EscapementError('E_USAGE', '--duration: must be longer than 0s');
}
