import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Verdict } from './judge.js';
import { Tally } from './tally.js';
import { trySeed, writeFailure } from './try-seed.js';

/*
 * Random experiments in the simulator, each checked in every way there is: `npm run swarm:simulator --
 * [--seeds N] [--minutes M] [--seed N] [--shrink] [--out DIR] [--workers N]`. Seeds are fresh unless the first is given.
 * A line for each seed that fails says how to repeat it; its experiment is in DIR/SEED, with --shrink also a smaller one.
 */

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    out: { type: 'string', default: 'out/swarm' },
    workers: { type: 'string' },
    child: { type: 'boolean', default: false },
  },
});

const DEFAULT_SEEDS = 200;
const MOST_SEED = 2 ** 40;
/** A seed takes a fraction of a second. One that takes this long never ends. */
const HUNG_MS = 180_000;
const HUNG = 'does not end';
const DIED = 'kills its process';

if (flags.child)
  process.on('message', (seed: number) => void trySeed(seed).then((verdict) => process.send?.(verdict)));
else await runSeeds();

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
  const take = () => (next < seeds && performance.now() < endMs ? first + next++ : null);
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

/** A process that judges seed after seed, and is replaced where it does not come back. */
async function work(take: () => number | null, tally: Tally): Promise<void> {
  let child = start();
  for (let seed = take(); seed !== null; seed = take()) {
    const verdict = await judgedBy(child, seed);
    tally.add(verdict);
    if (verdict.kind !== 'failed') continue;
    const isGone = verdict.check === HUNG || verdict.check === DIED;
    if (isGone) {
      child.kill('SIGKILL');
      child = start();
    }
    process.stdout.write(
      `seed ${seed}: ${verdict.check}: ${verdict.what.slice(0, 500)}\n  npm run swarm:simulator -- --seed ${seed}\n`,
    );
    await writeFailure(seed, join(flags.out, String(seed)), flags.shrink && !isGone);
  }
  child.kill();
}

function start() {
  return fork(fileURLToPath(import.meta.url), ['--child'], { execArgv: ['--enable-source-maps'] });
}

function judgedBy(child: ReturnType<typeof start>, seed: number): Promise<Verdict> {
  return new Promise((resolve) => {
    const end = (verdict: Verdict) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(verdict);
    };
    const fail = (check: string, what: string) => end({ kind: 'failed', check, what, replay: null });
    const timer = setTimeout(() => fail(HUNG, `nothing came in ${HUNG_MS / 1000} s`), HUNG_MS);
    child.once('message', (verdict) => end(verdict as Verdict));
    child.once('exit', (code, signal) => fail(DIED, `it ended with ${signal ?? code}`));
    child.send(seed);
  });
}
