import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { MAIN } from './run-cli.js';
import { until } from './server-process.js';
import { isAlive, pidIn, readyLog, WORKER } from './worker-process.js';

/** What npx tells a command that it runs. */
const FROM_NPX = { npm_lifecycle_event: 'npx', npm_lifecycle_script: 'escapement' };

describe('a server whose parent ends', () => {
  it.each([
    ['runs on, as daemons must', {}, true],
    [
      'runs on when something else above it came from npx',
      { ...FROM_NPX, npm_lifecycle_script: 'pm2' },
      true,
    ],
    ['ends with npx', FROM_NPX, false],
    [
      'ends with npx where that quotes its name',
      { ...FROM_NPX, npm_lifecycle_script: "'escapement'" },
      false,
    ],
  ])('%s', async (_, env, runsOn) => {
    const command = `'${process.execPath}' '${MAIN}' ${WORKER} & wait`;
    const shell = spawn('sh', ['-c', command], { env: { ...process.env, ...NO_NPX, ...env }, stdio: 'pipe' });
    const log = await readyLog(shell);
    const pid = pidIn(log());
    shell.kill('SIGKILL');
    await once(shell, 'exit');
    if (!runsOn) await until(() => !isAlive(pid));
    // A few times as long as a command under npx needs to see it.
    else await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(isAlive(pid)).toBe(runsOn);
  });
});

/** Vitest may have been started by npx. */
const NO_NPX = { npm_lifecycle_event: '', npm_lifecycle_script: '' };
