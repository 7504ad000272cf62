import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BUGS, type SeededBug } from './bugs.js';
import { compiled, withBug } from './patch.js';

/*
 * How many seeds of the swarm it takes to find each of a list of bugs: `npm run swarm:bugs -- [--seeds N] [--only TEXT] [--shrink]`.
 * Each bug is put into a copy of the compiled program. Bugs with a plan in test/swarm/regressions must also be found by that. With
 * `--shrink`, out/seeded-bugs gets the smaller scenario of the seed that finds it. Ends with status 1 if one is not found.
 */

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    only: { type: 'string', default: '' },
    shrink: { type: 'boolean', default: false },
  },
});
const FIRST_SEED = '1';
const SWARM = 'out/bench/swarm.js';
const REGRESSIONS = resolve('test/swarm/regressions');
const OUT = resolve('out/seeded-bugs');
const MOST_LETTERS = 300;

for (const bug of BUGS.filter(({ name }) => name.includes(flags.only))) tryBug(bug);

function tryBug(bug: SeededBug): void {
  mkdirSync(OUT, { recursive: true });
  const root = mkdtempSync(join(OUT, 'copy-'));
  try {
    copyWith(bug, root);
    if (bug.plan !== undefined) {
      const { found } = runSwarm(root, ['--plan', join(REGRESSIONS, bug.plan)]);
      say(bug, found === '' ? `IS NOT FOUND by ${bug.plan}` : `${bug.plan}: ${found}`, found !== '');
    }
    const { found, passed } = runSwarm(root, [
      ...['--seed', FIRST_SEED, '--seeds', flags.seeds, '--until-failure'],
      ...(bug.isSimulated === true ? ['--simulator'] : []),
    ]);
    say(bug, found === '' ? `IS NOT FOUND in ${flags.seeds} seeds` : `${passed}: ${found}`, found !== '');
    const seed = /^seed (\d+)/.exec(found)?.[1];
    if (flags.shrink && seed !== undefined) shrink(bug, root, seed);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function copyWith(bug: SeededBug, root: string): void {
  cpSync('dist', join(root, 'dist'), { recursive: true });
  cpSync('package.json', join(root, 'package.json'));
  cpSync(SWARM, join(root, SWARM));
  for (const folder of ['node_modules', 'src']) symlinkSync(resolve(folder), join(root, folder));
  const source = readFileSync(join('src', bug.file), 'utf8');
  const code = compiled(withBug(source, bug), readFileSync('tsconfig.json', 'utf8'));
  writeFileSync(join(root, 'dist', bug.file.replace(/\.ts$/, '.js')), code);
}

/** `found`: the line of the failure, empty: there was none; `passed`: how many seeds before. */
function runSwarm(
  root: string,
  args: readonly string[],
): { readonly found: string; readonly passed: string } {
  const { stdout, stderr, status } = spawnSync(process.execPath, [SWARM, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status === 0) return { found: '', passed: '' };
  if (status !== 1) throw new Error(`the swarm ended with ${status}: ${stderr}`);
  const found = /^seed \d+: .*$/m.exec(stdout)?.[0] ?? stdout.split('\n')[0];
  const passed = `after ${/(\d+) passed/.exec(stdout)?.[1] ?? '0'} seeds`;
  return { found: found.slice(0, MOST_LETTERS), passed };
}

function shrink(bug: SeededBug, root: string, seed: string): void {
  const out = join(OUT, bug.name.replaceAll(/\W+/g, '-'));
  const beganMs = performance.now();
  const simulator = bug.isSimulated === true ? ['--simulator'] : [];
  runSwarm(root, [...simulator, '--seed', seed, '--shrink', '--out', out]);
  say(bug, `made smaller in ${Math.round((performance.now() - beganMs) / 1000)} s: ${out}/${seed}/smaller`);
}

function say({ name }: SeededBug, what: string, isGood = true): void {
  process.stdout.write(`${name}: ${what}\n`);
  if (!isGood) process.exitCode = 1;
}
