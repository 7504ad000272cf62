import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

const HELP = `npm run swarm -- [FLAGS]

Runs live clusters in a simulated world in which everything fails, and checks what they do. Seeds are fresh, unless --seed is given.

  --seeds N         so many seeds; default: 200, or 1 with --seed, or as many as go with --minutes
  --minutes N       until this time is over
  --seed N          the first seed. Alone: this one; what happened is printed and written
  --plan FILE       the scenario of a file, twice: one that was written, or one of test/swarm/regressions
  --shrink          makes a scenario that fails smaller, as long as it fails for the same reason
  --until-failure   ends at the first one that fails
  --out DIR         what failed is written into DIR/SEED; default: out/swarm
  --workers N       processes; default: one per core
  --simulator       random experiments in the simulator instead
  --every N         only seeds that are multiples of N; of the simulator, multiples of 8 are long
  --help            this text

Status: 0 if all passed, 1 if one failed, 2 if it cannot be run.
`;

const OPTIONS = {
  seeds: { type: 'string' },
  seed: { type: 'string' },
  minutes: { type: 'string' },
  plan: { type: 'string' },
  simulator: { type: 'boolean', default: false },
  every: { type: 'string' },
  shrink: { type: 'boolean', default: false },
  out: { type: 'string', default: 'out/swarm' },
  workers: { type: 'string' },
  'until-failure': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  /** A process that tries the seeds that it is sent. */
  child: { type: 'boolean', default: false },
} as const;

const DEFAULT_SEEDS = 200;
const MOST_SEEDS = 2 ** 40;

export interface Flags {
  /** Null: none was given. */
  readonly seed: number | null;
  readonly seeds: number;
  readonly minutes: number;
  readonly workers: number;
  /** Null: seeds are run. */
  readonly plan: string | null;
  /** One seed is run, for somebody who wants to know what happens. */
  readonly isAlone: boolean;
  readonly simulator: boolean;
  /** Only multiples of it are tried. */
  readonly every: number;
  readonly shrink: boolean;
  readonly out: string;
  readonly untilFailure: boolean;
  readonly child: boolean;
}

/** What the command line says. Ends the process if that is not clear, or if help is wanted. */
export function readFlags(): Flags {
  try {
    const flags = flagsOf(process.argv.slice(2));
    if (flags !== null) return flags;
    process.stdout.write(HELP);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nnpm run swarm -- --help lists the flags\n`);
    process.exit(2);
  }
}

/** Null: help is wanted. Throws an `Error` for people. */
export function flagsOf(args: readonly string[]): Flags | null {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help) return null;
  const { simulator, shrink, out, child, plan = null } = values;
  for (const other of ['seed', 'seeds', 'minutes', 'workers', 'simulator', 'every'] as const)
    if (plan !== null && values[other]) throw new Error(`--plan and --${other} do not go together`);
  const seed = numberOf('seed', values.seed, 0);
  const minutes = numberOf('minutes', values.minutes, 1);
  const seeds = numberOf('seeds', values.seeds, 1);
  const isAlone = seed !== null && seeds === null && minutes === null;
  const usual = isAlone ? 1 : minutes === null ? DEFAULT_SEEDS : MOST_SEEDS;
  return {
    ...{ seed, isAlone, plan, simulator, shrink, out, child },
    seeds: seeds ?? usual,
    minutes: minutes ?? Number.POSITIVE_INFINITY,
    workers: Math.min(seeds ?? usual, numberOf('workers', values.workers, 1) ?? availableParallelism()),
    every: numberOf('every', values.every, 1) ?? 1,
    untilFailure: values['until-failure'],
  };
}

/** Null: it was not given. */
function numberOf(flag: string, text: string | undefined, least: number): number | null {
  if (text === undefined) return null;
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`--${flag} ${text}: it is a whole number from ${least}`);
}
