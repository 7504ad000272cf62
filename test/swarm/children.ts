import { type ChildProcess, fork } from 'node:child_process';
import { NS_PER_HOUR } from '../../src/base/units.js';
import type { SeedVerdict } from './run/try-seed.js';

/** A seed that takes this long never ends, even on a machine that has little time for it. */
const HUNG_MS = 1_800_000;
/** Made smaller, it takes hundreds of times as long. */
const HUNG_SHRINKING_MS = 7_200_000;
/** What is kept of simulated processes that have ended grows: another process goes on. */
const SEEDS_OF_A_CHILD = 200;

/** What a child is asked for. */
export interface Order {
  readonly seed: number;
}

/**
 * Tries seed after seed in a process of its own, with the flags of this one, until `take` has none left. The process is replaced
 * now and then, and if it does not come back.
 */
export async function trySeeds(
  { shrinks }: { readonly shrinks: boolean },
  take: () => number | null,
  tried: (seed: number, verdict: SeedVerdict) => void,
): Promise<void> {
  let child: ChildProcess | null = null;
  let seeds = 0;
  for (let seed = take(); seed !== null; seed = take()) {
    child ??= start();
    const verdict = await triedBy(child, seed, shrinks ? HUNG_SHRINKING_MS : HUNG_MS);
    tried(seed, verdict);
    if (!verdict.isGone && ++seeds % SEEDS_OF_A_CHILD !== 0) continue;
    child.kill('SIGKILL');
    child = null;
  }
  child?.kill('SIGKILL');
}

type ChildVerdict = SeedVerdict & { readonly isGone?: boolean };

function start(): ChildProcess {
  return fork(process.argv[1], process.argv.slice(2).concat('--child'), {
    execArgv: ['--enable-source-maps'],
  });
}

function triedBy(child: ChildProcess, seed: number, hungMs: number): Promise<ChildVerdict> {
  return new Promise((resolve) => {
    const end = (verdict: ChildVerdict) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(verdict);
    };
    const fail = (failure: string) => end({ failure, events: 0, virtualNs: 0, digest: '', isGone: true });
    const timer = setTimeout(() => fail(`does not end: nothing came in ${hungMs / 1000} s`), hungMs);
    child.once('message', (verdict) => end(verdict as SeedVerdict));
    child.once('exit', (code, signal) => fail(`ends its process with ${signal ?? code}`));
    child.send({ seed } satisfies Order);
  });
}

/** Counts what came of the seeds. */
export class Tally {
  failed = 0;
  private passed = 0;
  private events = 0;
  private virtualNs = 0;
  private readonly refused = new Map<string, number>();
  private readonly beganMs = performance.now();

  add({ failure, events, virtualNs, refused }: SeedVerdict): void {
    if (refused !== undefined) this.refused.set(refused, (this.refused.get(refused) ?? 0) + 1);
    else if (failure === '') this.passed++;
    else this.failed++;
    this.events += events;
    this.virtualNs += virtualNs;
  }

  /** One line. */
  get text(): string {
    const seconds = (performance.now() - this.beganMs) / 1000;
    const rate = Math.round(this.events / seconds);
    const did = `${this.events} events in ${(this.virtualNs / NS_PER_HOUR).toFixed(2)} virtual hours`;
    const refused = [...this.refused].map(([why, count]) => `, ${count} refused with ${why}`).join('');
    return `${this.passed} passed${refused}, ${this.failed} failed; ${did}, ${Math.round(seconds)} s, ${rate} events/s`;
  }
}
