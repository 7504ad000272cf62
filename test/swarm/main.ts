import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type SeedVerdict, tryPlan, trySeed } from './run/try-seed.js';
import { tryExperiment } from './simulator/try-experiment.js';
import { Tally } from './tally.js';

/*
 * Live clusters in a simulated world that does its worst: `npm run swarm -- [--seeds N] [--minutes M] [--seed N] [--plan FILE]
 * [--shrink] [--out DIR] [--workers N] [--until-failure]`. Seeds are fresh unless the first is given. A line for each seed that
 * fails says how to repeat it; DIR/SEED has its scenario, what happened and the journals, with --shrink also a smaller scenario. With
 * `--simulator` it is random experiments in the simulator instead, and DIR/SEED has the experiment.
 */

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    plan: { type: 'string' },
    simulator: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    out: { type: 'string', default: 'out/swarm' },
    workers: { type: 'string' },
    'until-failure': { type: 'boolean', default: false },
    child: { type: 'boolean', default: false },
  },
});

const DEFAULT_SEEDS = 200;
const MOST_SEED = 2 ** 40;
/** A seed takes a second or two. One that takes this long never ends. */
const HUNG_MS = 120_000;
/** Made smaller, it takes hundreds of times as long. */
const HUNG_SHRINKING_MS = 1_800_000;
/** What is kept for simulated processes that have ended grows: another process goes on. */
const SEEDS_OF_A_CHILD = 200;

if (flags.child) process.on('message', (order: Order) => void obey(order));
else if (flags.plan !== undefined) await runPlan(flags.plan);
else await runSeeds();

interface Order {
  readonly seed: number;
}

async function obey({ seed }: Order): Promise<void> {
  const tryIt = flags.simulator ? tryExperiment : trySeed;
  process.send?.(await tryIt(seed, { dir: join(flags.out, String(seed)), smaller: flags.shrink }));
}

async function runPlan(path: string): Promise<void> {
  try {
    report(await tryPlan(path, { dir: flags.out, smaller: flags.shrink }));
  } catch (error) {
    process.stderr.write(`--plan ${path}: not a scenario that can be run: ${(error as Error).message}\n`);
    process.exitCode = 2;
  }
}

function report({ failure, digest, events }: SeedVerdict): void {
  process.stdout.write(`${failure || 'passed'}; ${events} events, digest ${digest}\n`);
  process.exitCode = failure === '' ? 0 : 1;
}

async function runSeeds(): Promise<void> {
  const minutes = wholeNumber('minutes', Number.POSITIVE_INFINITY);
  const first = wholeNumber('seed', randomInt(MOST_SEED));
  const usual = flags.seed !== undefined ? 1 : flags.minutes !== undefined ? MOST_SEED : DEFAULT_SEEDS;
  const seeds = wholeNumber('seeds', usual);
  const workers = Math.min(seeds, wholeNumber('workers', availableParallelism()));
  const endMs = performance.now() + minutes * 60_000;
  process.stdout.write(`seeds from ${first}\n`);
  const tally = new Tally();
  let next = 0;
  const isOver = () =>
    next >= seeds || performance.now() > endMs || (flags['until-failure'] && tally.failed > 0);
  const take = () => (isOver() ? null : first + next++);
  await Promise.all(Array.from({ length: workers }, () => work(take, tally)));
  process.stdout.write(`${tally.text}\n`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

function wholeNumber(flag: 'minutes' | 'seed' | 'seeds' | 'workers', absent: number): number {
  const text = flags[flag];
  if (text === undefined) return absent;
  if (/^\d+$/.test(text)) return Number(text);
  process.stderr.write(`--${flag} ${text}: write a whole number\n`);
  process.exit(2);
}

/** A process that tries seed after seed, and is replaced now and then, and where it does not come back. */
async function work(take: () => number | null, tally: Tally): Promise<void> {
  let child = start();
  let tried = 0;
  for (let seed = take(); seed !== null; seed = take()) {
    const verdict = await triedBy(child, seed);
    tally.add(verdict);
    if (verdict.failure !== '')
      process.stdout.write(
        `seed ${seed}: ${verdict.failure.slice(0, 500)}\n  npm run swarm -- ${flags.simulator ? '--simulator ' : ''}--seed ${seed}\n`,
      );
    if (!verdict.isGone && ++tried % SEEDS_OF_A_CHILD !== 0) continue;
    child.kill('SIGKILL');
    child = start();
  }
  child.kill();
}

function start() {
  return fork(fileURLToPath(import.meta.url), process.argv.slice(2).concat('--child'), {
    execArgv: ['--enable-source-maps'],
  });
}

function triedBy(child: ReturnType<typeof start>, seed: number): Promise<SeedVerdict & { isGone?: boolean }> {
  return new Promise((resolve) => {
    const end = (verdict: SeedVerdict & { isGone?: boolean }) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(verdict);
    };
    const fail = (failure: string) => end({ failure, events: 0, virtualNs: 0, digest: '', isGone: true });
    const hungMs = flags.shrink ? HUNG_SHRINKING_MS : HUNG_MS;
    const timer = setTimeout(() => fail(`does not end: nothing came in ${hungMs / 1000} s`), hungMs);
    child.once('message', (verdict) => end(verdict as SeedVerdict));
    child.once('exit', (code, signal) => fail(`kills its process, which ended with ${signal ?? code}`));
    child.send({ seed } satisfies Order);
  });
}
