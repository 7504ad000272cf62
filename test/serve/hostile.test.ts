import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ATTACKS } from '../bench/live/hostile/attacks/index.js';
import { attackFrom, VictimProcess } from '../bench/live/hostile/players.js';
import { AttackedServer } from '../bench/live/hostile/subject.js';
import type { Setting } from '../bench/live/hostile/target.js';
import { MAIN, tempDir } from '../cli/run-cli.js';

/*
 * The worst attacks of `npm run bench:live -- --hostile`, a second each, one after the other on the same server. That
 * measures; this asks whether each is refused with a reason, its neighbor answered and no process ended.
 */

const ATTACK = { seconds: 1, graceSeconds: 15, nice: 10 };
/** On a busy machine a second passes quickly; the stalls that this guards against took many. */
const VICTIM = { rateRps: 20, sloMs: 20_000, nice: 0 };

/** By attack: what it may get. A connection that is cut counts as what its client reads from it. */
const CASES: readonly (readonly [Setting, readonly (readonly [string, RegExp])[]])[] = [
  [
    'plain',
    [
      ['json 3 million keys', /^(413|400)$/],
      ['json 100,000 levels in id', /^400$/],
      ['json 3.9 MB of small objects', /^(400|503)$/],
      ['an output named 10,000 times', /^400$/],
      ['sizes that lie, in binary data', /^400$/],
      ['grpc shape of 20 million', /^grpc (3|8)$/],
      ['grpc 30 million int_contents', /^grpc (3|8)$/],
      ['grpc 5 million raw contents', /^grpc (3|8)$/],
      ['grpc 64 kB gzip of empty messages', /^grpc (3|8)$/],
      ['large binary bodies, honest', /^(200|503)$/],
      ['cross-site posts', /^403$/],
      // Those that are closed for a flood keep their address out of gRPC for a while, so they come last.
      ['grpc calls without inference', /^(ended|connection closed|GOAWAY \d+|RST \d+|ECONNRESET|EPIPE)$/],
      ['h2 rapid reset', /^(connection closed|GOAWAY \d+|RST \d+|ECONNRESET|EPIPE)$/],
    ],
  ],
  [
    'token',
    [
      ['grpc 64 kB gzip of empty messages', /^grpc 16$/],
      ['60 MB of JSON without the token', /^401$/],
    ],
  ],
  ['cluster-token', [['worker: 64 kB gzip of empty messages', /^grpc (9|12|16)$/]]],
];

let bundle = '';

beforeAll(async () => {
  const entry = fileURLToPath(new URL('../bench/live/hostile/child.ts', import.meta.url));
  bundle = join(tempDir(), 'child.mjs');
  const options = { bundle: true, platform: 'node', format: 'esm', packages: 'external' } as const;
  await build({ ...options, entryPoints: [entry], outfile: bundle, logLevel: 'warning' });
});

describe.each(CASES)('next to hostile clients, a server (%s)', (setting, cases) => {
  it('refuses them with a reason and answers everyone else', async () => {
    const server = await AttackedServer.start(MAIN, setting);
    onTestFinished(() => server.stop());
    const victim = new VictimProcess(bundle, server.target, VICTIM);
    onTestFinished(() => victim.kill());
    const wrong: object[] = [];
    for (const [name, expected] of cases) {
      const attack = ATTACKS.find((one) => one.name === name && one.setting === setting);
      if (attack === undefined) throw new Error(`there is no attack "${name}" (${setting})`);
      const answers = await attackFrom(bundle, server.target, attack, ATTACK);
      const unexpected = answers.filter(([what]) => !expected.test(what));
      if (unexpected.length > 0 || answers.length === 0 || !server.isAlive) wrong.push({ name, answers });
    }
    const samples = await victim.stop();
    const failures = samples.map(({ failure }) => failure).filter((failure) => failure !== '');
    expect({ wrong, alive: server.isAlive, failures: [...new Set(failures)] }).toEqual({
      wrong: [],
      alive: true,
      failures: [],
    });
    expect(samples.length).toBeGreaterThan(10);
  });
});
