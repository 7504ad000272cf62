import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('200 fresh seeds hold what live clusters promise', () => {
  execFileSync('node', ['test/bench/build.mjs'], { cwd: ROOT });
  // Fails with what it printed: the seeds, and the line that repeats one.
  const said = execFileSync('node', ['out/bench/swarm.js', '--seeds', '200'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  process.stdout.write(said);
  expect(said).toContain('200 passed, 0 failed');
});
