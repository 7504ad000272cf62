import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAIN, runCli } from './run-cli.js';

test.each([
  [['simulate', 'run.yaml', '--treshold', 'p99<1s'], /Did you mean --threshold\?/],
  [['simluate', 'run.yaml'], /Did you mean simulate\?/],
  [['simulate', 'run.yaml', '--seed', '1', '--seed', '2'], /more than once/],
  [['simulate', 'run.yaml', '--seed', 'one'], /--seed one: write a whole number/],
  [['simulate', 'run.yaml', '--threshold', 'p98<1s'], /no metric p98/],
  [['simulate'], /Not enough non-option arguments/],
  [['sweep', 'run.yaml', '--threads', '0'], /--threads 0/],
  [['schema', 'unknown'], /"experiment"/],
  [[], /name a command/],
])('%j is a usage error on one line', async (args, message) => {
  const { status, stdout, stderr } = await runCli(args);
  expect(stderr).toMatch(/^escapement: E_USAGE: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test('--help lists the commands and every exit status', async () => {
  const { status, stdout } = await runCli(['--help']);
  expect(status).toBe(0);
  for (const text of ['simulate <file>', 'sweep <file>', 'report <dir>', 'E_TRACE_ORDER', '130']) {
    expect(stdout).toContain(text);
  }
});

test('simulate --help lists keys and policies with their defaults', async () => {
  const { stdout } = await runCli(['simulate', '--help']);
  expect(stdout).toMatch(/^ +slo (?:.*\n +){0,3}.*\[100ms\]$/m);
  expect(stdout).toMatch(/^ +policy\.scheduleAhead (?:.*\n +){0,2}.*\[10ms\]$/m);
  expect(stdout).toMatch(/^ +policy\.maxDelay .*\[5ms\]$/m);
  expect(stdout).toMatch(/^ +workload\.onRate .*\[required\]$/m);
});

test('a full disk behind standard output is told in one line', ({ skip }) => {
  if (!existsSync('/dev/full')) skip('no /dev/full here');
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'config'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(full);
  expect(stderr).toMatch(/^escapement: E_FILE_WRITE: standard output: cannot be written: ENOSPC[^\n]*\n$/);
  expect(status).toBe(22);
});

test('--version prints the version of the package', async () => {
  const { stdout } = await runCli(['--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each(['experiment', 'profile', 'summary', 'run', 'results'])(
  'schema %s is a JSON Schema',
  async (name) => {
    const { status, stdout } = await runCli(['schema', name]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: expect.stringContaining('json-schema.org'),
      type: 'object',
    });
  },
);
