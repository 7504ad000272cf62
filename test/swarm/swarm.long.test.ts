import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SEEDS = '200';
/** On a machine that is busy with other tests, fewer seeds. */
const MINUTES = '2';

// Another try would be one with other seeds.
it('fresh seeds hold what live clusters promise', { retry: 0, timeout: 900_000 }, () => {
  spawnSync('node', ['test/bench/build.mjs'], { cwd: ROOT, stdio: 'inherit' });
  const swarm = ['out/bench/swarm.js', '--seeds', SEEDS, '--minutes', MINUTES];
  const { stdout, stderr, status } = spawnSync('node', swarm, { cwd: ROOT, encoding: 'utf8' });
  process.stdout.write(stdout);
  // Says the seed, what was found, and the line that repeats it.
  expect(`${stdout}${stderr}`).toMatch(/^[1-9]\d* passed, 0 failed; /m);
  expect(status).toBe(0);
});
