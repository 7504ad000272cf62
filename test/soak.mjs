import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/*
 * Looks for bugs with fresh seeds, and where real time and real processes decide: `npm run soak -- --minutes 20`. Each of four
 * parts gets a quarter of the time: the swarm, random experiments, chaos among real processes, properties. The fixed tests in
 * `*.soak.test.ts` come in addition. Every seed is printed, with the command that repeats it.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
const minutes = Math.ceil(Number(values.minutes) / 4);
if (!(minutes >= 1)) throw new Error(`--minutes ${values.minutes}: it is a number above 0`);

const failed = [];
for (const flags of [[], ['--simulator']])
  run(['out/bench/swarm.js', '--minutes', String(minutes), ...flags]);
run([VITEST, 'run', '--project=soak'], {
  CHAOS_MINUTES: String(minutes),
  CHAOS_SEED: String(randomInt(2 ** 40)),
});

const properties = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .filter((file) => readFileSync(join(ROOT, file), 'utf8').includes("from 'fast-check'"));
const endMs = performance.now() + minutes * 60_000;
do {
  run([VITEST, 'run', '--reporter=dot', ...properties], { PROPERTY_SEED: String(randomInt(2 ** 31)) });
} while (performance.now() < endMs);

console.log(failed.length === 0 ? 'soak: nothing found' : `soak: these failed:\n${failed.join('\n')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Runs a script of Node, and notes the command if it fails. */
function run(args, env = {}) {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value} `);
  const command = `${settings.join('')}node ${args.join(' ').replace(`${ROOT}`, '')}`;
  console.log(`\n${command}`);
  const options = { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } };
  if (spawnSync(process.execPath, args, options).status !== 0) failed.push(command);
}
