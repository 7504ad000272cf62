import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BUGS, type SeededBug } from './bugs.js';

/*
 * How many seeds of the swarm it takes to find each of a list of bugs: `npm run swarm:bugs -- [--seeds N] [--only TEXT]`.
 * Each bug is put into a copy of dist. Ends with status 1 if one is not found within so many seeds.
 */

const { values: flags } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, only: { type: 'string', default: '' } },
});
const FIRST_SEED = '1';
const SWARM = 'out/bench/swarm.js';

let missed = 0;
for (const bug of BUGS.filter(({ name }) => name.includes(flags.only))) {
  const said = tryBug(bug);
  if (said === null) missed++;
  process.stdout.write(`${bug.name}: ${said ?? `not found in ${flags.seeds} seeds`}\n`);
}
process.exitCode = missed > 0 ? 1 : 0;

/** How the swarm finds it; null: it does not. */
function tryBug({ file, find, replace }: SeededBug): string | null {
  mkdirSync('out', { recursive: true });
  const root = mkdtempSync(resolve('out/seeded-bug-'));
  try {
    cpSync('dist', join(root, 'dist'), { recursive: true });
    cpSync('package.json', join(root, 'package.json'));
    cpSync(SWARM, join(root, SWARM));
    for (const folder of ['node_modules', 'src']) symlinkSync(resolve(folder), join(root, folder));
    const path = join(root, 'dist', file);
    const parts = readFileSync(path, 'utf8').split(find);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
    writeFileSync(path, parts.join(replace));
    const args = [SWARM, '--seed', FIRST_SEED, '--seeds', flags.seeds, '--until-failure'];
    const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    if (status === 0) return null;
    const passed = /(\d+) passed/.exec(stdout)?.[1] ?? '?';
    return `after ${passed} seeds, ${/^seed .*$/m.exec(stdout)?.[0] ?? stdout}`;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
