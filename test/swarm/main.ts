import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NS_PER_S } from '../../src/base/units.js';
import { type Order, Tally, trySeeds } from './children.js';
import { readFlags } from './flags.js';
import { type SeedVerdict, tryPlan, trySeed } from './run/try-seed.js';
import { tryExperiment } from './simulator/try-experiment.js';

/*
 * Live clusters in a simulated world that does its worst: `npm run swarm -- --help`. What a seed does is in `out/swarm/SEED` if it
 * fails, or if it is the only one.
 */

const MOST_SEED = 2 ** 40;
const LONGEST_LINE = 500;

const flags = readFlags();
const { out, plan, simulator, shrink: smaller, isAlone: keeps } = flags;

if (flags.child) process.on('message', (order: Order) => void obey(order));
else if (plan !== null) await runPlan(plan);
else await runSeeds();

async function obey({ seed }: Order): Promise<void> {
  const options = { dir: dirOf(seed), smaller, keeps };
  process.send?.(await (simulator ? tryExperiment(seed, options) : trySeed(seed, options)));
}

async function runPlan(path: string): Promise<void> {
  try {
    say(out, await tryPlan(path, { dir: out, smaller, keeps: true }));
  } catch (error) {
    process.stderr.write(`--plan ${path}: not a scenario that can be run: ${(error as Error).message}\n`);
    process.exitCode = 2;
  }
}

/** All that there is to say of a run. */
function say(dir: string, { failure, story = '', digest, events, virtualNs }: SeedVerdict): void {
  const figures = `${events} events in ${(virtualNs / NS_PER_S).toFixed(1)} virtual seconds, digest ${digest}`;
  process.stdout.write(`${failure || 'passed'}\n${story}${figures}\n`);
  if (story !== '') process.stdout.write(`what happened is in ${dir}\n`);
  process.exitCode = failure === '' ? 0 : 1;
}

async function runSeeds(): Promise<void> {
  const { every } = flags;
  const first = Math.ceil((flags.seed ?? randomInt(MOST_SEED)) / every) * every;
  const endMs = performance.now() + flags.minutes * 60_000;
  const tally = new Tally();
  let next = 0;
  const isOver = () =>
    next >= flags.seeds || performance.now() > endMs || (flags.untilFailure && tally.failed > 0);
  const take = () => (isOver() ? null : first + every * next++);
  const tried = (seed: number, verdict: SeedVerdict) => {
    tally.add(verdict);
    if (keeps) say(dirOf(seed), verdict);
    else if (verdict.failure !== '') sayFailed(seed, verdict.failure);
  };
  if (!keeps) process.stdout.write(`seeds from ${first}\n`);
  const workers = Array.from({ length: flags.workers }, () => trySeeds({ shrinks: smaller }, take, tried));
  await Promise.all(workers);
  if (!keeps) process.stdout.write(`${tally.text}\n`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

function sayFailed(seed: number, failure: string): void {
  const again = `npm run swarm -- ${simulator ? '--simulator ' : ''}--seed ${seed}`;
  const line = `seed ${seed}: ${failure.slice(0, LONGEST_LINE)}`;
  // A process that was killed has written nothing.
  const where = existsSync(dirOf(seed)) ? `what happened is in ${dirOf(seed)}; ` : '';
  process.stdout.write(`${line}\n  ${where}again: ${again}\n`);
}

function dirOf(seed: number): string {
  return join(out, String(seed));
}
