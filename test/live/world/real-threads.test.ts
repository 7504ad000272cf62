import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT, tempDir, writeIn } from '../../cli/run-cli.js';

it('a process ends although a thread is in a call that does not return', async () => {
  const dir = tempDir();
  const pipe = join(dir, 'pipe');
  // To read from a pipe that nothing writes to takes for ever.
  execFileSync('mkfifo', [pipe]);
  writeIn(dir, 'thread.mjs', `import { readFileSync } from 'node:fs'; readFileSync('${pipe}');`);
  const main = writeIn(
    dir,
    'main.mjs',
    `import { REAL_WORLD } from '${join(ROOT, 'dist', 'live', 'world', 'real-world.js')}';
    const thread = REAL_WORLD.threads.start(new URL('file://${dir}/thread.mjs'), {});
    thread.on('error', (error) => { throw error; });
    setTimeout(() => REAL_WORLD.threads.abandon(thread), 500);`,
  );
  const child = spawn(process.execPath, [main], { stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  expect(said).toContain('a call of a device does not return');
});
