import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, onTestFinished } from 'vitest';
import { ATTACKS } from '../../bench/live/hostile/attacks/index.js';
import { attackFrom, VictimProcess } from '../../bench/live/hostile/players.js';
import { AttackedServer } from '../../bench/live/hostile/subject.js';
import type { Setting } from '../../bench/live/hostile/target.js';
import { MAIN, tempDir } from '../../cli/run-cli.js';

/** As the server: on a busy machine an attack of less would take minutes. */
const NICE = 0;
/** For the first answer: some attacks take seconds of CPU time to prepare. */
const PATIENCE_SECONDS = 45;
/** Of the attacks: still beyond every limit that they are about. */
const SIZE = 0.2;
/** On a busy machine a second passes quickly; the stalls that this guards against took many. */
const VICTIM = { rateRps: 20, sloMs: 20_000, nice: 0 };

/** An attack, and what it may get. A connection that is cut counts as what its client reads from it. */
export interface Attempt {
  readonly name: string;
  readonly gets: RegExp;
  /** Default: 1. */
  readonly seconds?: number;
  /** True: it may also get nothing in its time, as clients that do not read. */
  readonly mayWait?: boolean;
}

/**
 * Runs attacks of `npm run bench:live -- --hostile`, smaller and for a short time, one after the other on the same server.
 * That measures; this asks whether each is refused with a reason, its neighbor answered and no process ended.
 */
export async function withstand(setting: Setting, attempts: readonly Attempt[]): Promise<void> {
  const [bundle, server] = await Promise.all([bundleChild(), AttackedServer.start(MAIN, setting)]);
  onTestFinished(() => server.stop());
  const victim = new VictimProcess(bundle, server.target, VICTIM);
  onTestFinished(() => victim.kill());
  const wrong: object[] = [];
  for (const { name, gets, seconds = 1, mayWait = false } of attempts) {
    const attack = ATTACKS.find((one) => one.name === name && one.setting === setting);
    if (attack === undefined) throw new Error(`there is no attack "${name}" (${setting})`);
    const graceSeconds = mayWait ? 0 : PATIENCE_SECONDS;
    const target = { ...server.target, size: SIZE };
    const answers = await attackFrom(bundle, target, attack, { seconds, graceSeconds, nice: NICE });
    const isExpected = answers.every(([what]) => gets.test(what)) && (mayWait || answers.length > 0);
    if (!isExpected || !server.isAlive) wrong.push({ name, answers });
  }
  const samples = await victim.stop();
  const failures = samples.map(({ failure }) => failure).filter((failure) => failure !== '');
  expect({ wrong, alive: server.isAlive, failures: [...new Set(failures)] }).toEqual({
    wrong: [],
    alive: true,
    failures: [],
  });
  expect(samples.length).toBeGreaterThan(0);
}

async function bundleChild(): Promise<string> {
  const entry = fileURLToPath(new URL('../../bench/live/hostile/child.ts', import.meta.url));
  const bundle = join(tempDir(), 'child.mjs');
  const options = { bundle: true, platform: 'node', format: 'esm', packages: 'external' } as const;
  await build({ ...options, entryPoints: [entry], outfile: bundle, logLevel: 'warning' });
  return bundle;
}
