import { availableParallelism } from 'node:os';
import type { Options } from 'yargs';
import type { Protocol } from '../bottleneck/child/messages.js';
import type { ScalingResult } from '../bottleneck/scaling/result.js';
import { SCALING_MODES, type ScalingMode } from '../bottleneck/scaling/size.js';
import { EscapementError } from '../core/errors.js';
import { oneValue, wholeNumber } from './args.js';
import { openScalingSubject, type ScalingSubjectArgs } from './scaling-subject.js';
import { packageVersion } from './version.js';

const CHOICES = [...SCALING_MODES, 'both'] as const;
const TENSORS = ['real', 'none'] as const;
const DEFAULT_GPUS = '1,2,4';
const DEFAULT_TRIALS = '3';
/** A slip of the pen would keep the machine busy for hours. */
const MOST_GPUS = 1024;

/** Flags of `bench` that are for scaling only. */
export const scalingFlags = {
  scaling: {
    choices: CHOICES,
    requiresArg: true,
    describe: 'Measure how requests/s grow with GPUs: fixed work, or as much for each GPU',
  },
  gpus: oneValue({
    describe: 'With --scaling: numbers of GPUs; the fewest are the base',
    defaultDescription: DEFAULT_GPUS,
  }),
  emulate: {
    type: 'boolean',
    default: false,
    describe: 'With --scaling: GPUs that only take the time of the profiles of the models',
  },
  tensors: {
    choices: TENSORS,
    default: 'real' as const,
    requiresArg: true,
    describe: 'With --scaling, emulated GPUs: tensors of the real sizes, or none, which leaves the scheduler',
  },
} as const satisfies Record<string, Options>;

/** For `--help`. */
export const SCALING_EPILOGUE = `With --scaling, of clients, controller and GPUs in one process, in real time:
  strong     the same requests and clients for any number; T1 / (N TN)
  weak       as many requests and clients for each GPU; T1 / TN
  --seconds  of a trial without losses; strong: of that with the most GPUs`;

export interface ScalingArgs extends ScalingSubjectArgs {
  readonly scaling: (typeof CHOICES)[number] | undefined;
  readonly gpus: string | undefined;
  readonly vary: string | undefined;
  readonly remote: boolean;
  readonly protocol: Protocol;
  readonly clients: string | undefined;
  readonly trials: string | undefined;
}

/** Whom a benchmark tells how it is getting on. */
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
  const place = scaling === undefined ? 'is for --scaling only' : 'does not go with --scaling';
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
    trials: wholeNumber(args.trials ?? DEFAULT_TRIALS, 'trials', 1),
    seconds,
    clients: args.clients === undefined ? null : wholeNumber(args.clients, 'clients', 1),
    cores: availableParallelism(),
    version: packageVersion(),
  };
  const subject = await openScalingSubject(args, gpus[gpus.length - 1], say);
  const { measureScaling } = await import('../bottleneck/scaling/scaling.js');
  return measureScaling(subject, {
    ...options,
    onProgress,
  });
}

/** `4,1,2` as 1, 2, 4. Throws `E_USAGE`. */
function parseGpus(text: string): number[] {
  const counts = text.split(',').map((one) => wholeNumber(one, 'gpus', 1));
  const unique = [...new Set(counts)].sort((a, b) => a - b);
  const problem =
    unique.length < counts.length
      ? 'a number stands there twice'
      : unique.length < 2
        ? 'two numbers are the least that can be compared'
        : unique[unique.length - 1] > MOST_GPUS
          ? `at most ${MOST_GPUS}`
          : '';
  if (problem === '') return unique;
  throw new EscapementError('E_USAGE', `--gpus ${text}: ${problem}, e.g. --gpus 1,2,4`);
}
