import { EscapementError } from '../base/errors.js';
import { usableCores } from '../base/limits/usable.js';
import type { Protocol } from '../tools/bench/child/messages.js';
import type { ScalingResult } from '../tools/bench/scaling/result.js';
import { SCALING_MODES, type ScalingMode } from '../tools/bench/scaling/size.js';
import { wholeNumber } from './options.js';
import { openScalingSubject, type ScalingSubjectArgs } from './scaling-subject.js';
import { packageVersion } from './version.js';

const DEFAULT_GPUS = '1,2,4';
const DEFAULT_TRIALS = 3;
/** A typing error would keep the machine busy for hours. */
const MOST_GPUS = 1024;

export interface ScalingArgs extends ScalingSubjectArgs {
  readonly scaling: ScalingMode | 'both' | undefined;
  readonly gpus: string | undefined;
  readonly vary: string | undefined;
  readonly remote: boolean;
  readonly protocol: Protocol;
  readonly concurrency: number | undefined;
  readonly trials: number | undefined;
}

/** Is notified of the progress of a benchmark. */
export interface Attendant {
  /** A line for the operator. */
  say(what: string): void;
  onProgress(fraction: number, next: string): void;
}

/** Throws `E_USAGE` for flags that go only with, or only without, `--scaling`. */
export function checkScalingFlags({
  scaling,
  gpus,
  emulate,
  tensors,
  vary,
  remote,
  protocol,
}: ScalingArgs): void {
  const misplaced =
    scaling === undefined
      ? [gpus !== undefined && '--gpus', emulate && '--emulate', tensors === 'none' && '--tensors none']
      : [vary !== undefined && '--vary', remote && '--remote', protocol !== 'http' && '--protocol'];
  const flag = misplaced.find((name) => name !== false);
  if (flag === undefined) return;
  const place = scaling === undefined ? 'requires --scaling' : 'cannot be combined with --scaling';
  throw new EscapementError('E_USAGE', `${flag} ${place}`);
}

/** Measures what the flags ask for; the chosen trials take `seconds`. Throws coded errors. */
export async function benchScaling(
  args: ScalingArgs,
  mode: NonNullable<ScalingArgs['scaling']>,
  seconds: number,
  { say, onProgress }: Attendant,
): Promise<ScalingResult> {
  const modes: readonly ScalingMode[] = mode === 'both' ? SCALING_MODES : [mode];
  const gpus = parseGpus(args.gpus ?? DEFAULT_GPUS);
  const options = {
    modes,
    gpus,
    trials: args.trials ?? DEFAULT_TRIALS,
    seconds,
    clients: args.concurrency ?? null,
    cores: usableCores(),
    version: packageVersion(),
  };
  const subject = await openScalingSubject(args, gpus[gpus.length - 1], say);
  const { measureScaling } = await import('../tools/bench/scaling/scaling.js');
  return measureScaling(subject, {
    ...options,
    onProgress,
  });
}

/** `4,1,2` as 1, 2, 4. Throws `E_USAGE`. */
function parseGpus(text: string): number[] {
  const counts = text.split(',').map((one) => wholeNumber(one, '--gpus', 1));
  const unique = [...new Set(counts)].sort((a, b) => a - b);
  const problem =
    unique.length < counts.length
      ? 'duplicate number'
      : unique.length < 2
        ? 'at least two numbers are needed'
        : unique[unique.length - 1] > MOST_GPUS
          ? `at most ${MOST_GPUS} GPUs`
          : '';
  if (problem === '') return unique;
  throw new EscapementError('E_USAGE', `--gpus ${text}: ${problem}, e.g. --gpus 1,2,4`);
}
