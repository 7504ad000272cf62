import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { ROOT } from '../../../cli/run-cli.js';

it('the log writes JSON lines to stderr, and leaves out what is below its level', () => {
  const script = `
    import { createLog } from './dist/live/observe/telemetry/log.js';
    const log = createLog('info', 'worker');
    log.debug('not this');
    log.warn({ worker: 'local', lateNs: 5 }, 'woke late');
    process.kill(process.pid, 'SIGKILL');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(
    stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      role: 'worker',
      pid: expect.any(Number),
      worker: 'local',
      lateNs: 5,
      msg: 'woke late',
    },
  ]);
});
