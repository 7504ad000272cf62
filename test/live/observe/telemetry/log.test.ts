import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readableLine } from '../../../../src/live/observe/telemetry/log.js';
import { ROOT, tempDir } from '../../../cli/run-cli.js';
import { until } from '../../../cli/server-process.js';

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

describe('with a reader that stalls', () => {
  const script = `
    import { writeFileSync, writeSync } from 'node:fs';
    import { createLog } from './dist/live/observe/telemetry/log.js';
    const log = createLog('info', 'worker');
    const LINES = 12_000;
    for (let line = 1; line <= LINES; line++) {
      log.info({ line }, 'a line of a log that is chatty about what does not matter much');
      if (line % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }`;

  /** Runs it without reading its stderr at first. */
  function run(end: string) {
    const args = ['--input-type=module', '-e', `${script}; writeSync(1, 'did not wait'); ${end}`];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  it('the process goes on; the log says later how many lines were dropped', async () => {
    const child = run('setInterval(() => {}, 1000);');
    expect(String((await once(child.stdout, 'data'))[0])).toBe('did not wait');
    const got: { readonly line?: number; readonly level: string; readonly lines?: number }[] = [];
    for await (const text of createInterface(child.stderr)) {
      got.push(JSON.parse(text));
      if (got.at(-1)?.lines !== undefined) break;
    }
    const last = got.pop();
    expect(last).toMatchObject({
      level: 'error',
      msg: `${last?.lines} log lines were dropped: stderr took none`,
    });
    expect(got.map(({ line }) => line)).toEqual(got.map((_, i) => i + 1));
    expect(got.length + (last?.lines ?? 0)).toBe(12_000);
  });

  it('that is a terminal, as after Ctrl-S: the process goes on', async ({ skip }) => {
    skip(spawnSync('script', ['--version']).error !== undefined, 'needs `script` of util-linux');
    const done = join(tempDir(), 'done');
    const env = {
      ...process.env,
      CODE: `${script}; writeFileSync('${done}', ''); setInterval(() => {}, 1000);`,
    };
    const command = `exec ${process.execPath} --input-type=module -e "$CODE"`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: ROOT, env, stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGTERM'));
    await until(() => existsSync(done));
    expect(child.exitCode).toBeNull();
  });

  it('the process ends', async () => {
    const child = run('');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

it('a line of the log reads well on a terminal, and cannot take it over', () => {
  const entry = {
    level: 'warn',
    time: '2026-03-04T05:06:07.089Z',
    role: 'controller',
    pid: 7,
    gpu: 3,
    reason: 'it said \u001b]0;owned\u0007 "no"\nERROR: fake',
    msg: 'GPU is \u001b[31mgone',
  };
  expect(readableLine(JSON.stringify(entry))).toBe(
    '05:06:07.089 WARN  controller: GPU is \\u001b[31mgone gpu=3 reason="it said \\u001b]0;owned\\u0007 \\"no\\"\\nERROR: fake"',
  );
});
