import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeKeys } from '../../src/config/keys.js';
import { ALL_COMMANDS } from './all-commands.js';
import { MAIN, runCli } from './run-cli.js';

test.each([
  [['simulate', 'run.yaml', '--treshold', 'p99<1s'], /did you mean --threshold\?/],
  [['simluate', 'run.yaml'], /unknown command; did you mean simulate\?/],
  [['simulate', 'run.yaml', '--seed', '1', '--seed', '2'], /more than once/],
  [['simulate', 'run.yaml', '--seed', 'one'], /--seed one: must be a whole number/],
  [['simulate', 'run.yaml', '--threshold', 'speed<1s'], /unknown figure speed/],
  [['simulate'], /missing argument: <file>$/m],
  [['trace', 'convert', 'x'], /missing argument: <out>$/m],
  [['compare'], /missing argument: <results\.\.>$/m],
  [['sweep', 'run.yaml', '--threads', '0'], /--threads 0/],
  [['schema', 'unknown'], /must be one of "experiment", /],
  [['trace'], /trace needs a subcommand: trace info, /],
  [['--seed', '3', 'config', '--nothing'], /unknown arguments: seed/],
  [['--verson'], /a command is missing/],
  [['foo'], /unknown command/],
  [['simulate', 'a.yaml', '--output', 'x'], /unknown argument: output; did you mean --out\?/],
  [['config', '--json', 'yes'], /unknown argument: yes/],
  [['config', '--json=yes'], /--json takes no value, found yes/],
])('%j is a usage error on one line', async (args, message) => {
  const { status, stdout, stderr } = await runCli(args);
  expect(stderr).toMatch(/^escapement: E_USAGE: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test.each([
  [['help'], ['--help']],
  [['-h'], ['--help']],
  [
    ['help', 'simulate'],
    ['simulate', '--help'],
  ],
  [
    ['simulate', '-h'],
    ['simulate', '--help'],
  ],
  [
    ['help', 'trace', 'info'],
    ['trace', 'info', '--help'],
  ],
])('%j is %j', async (args, same) => {
  const [run, wanted] = await Promise.all([runCli(args), runCli(same)]);
  expect(wanted.stdout).toContain('escapement ');
  expect(run).toEqual(wanted);
});

test('--help lists every command on at most 60 lines of 80 columns', async () => {
  const { status, stdout } = await runCli(['--help']);
  expect(status).toBe(0);
  const [listed] = stdout.split('\nOptions:');
  for (const { name } of ALL_COMMANDS) expect(listed).toContain(`escapement ${name.split(' ')[0]} `);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test.each(ALL_COMMANDS)(
  '$name --help fits on two screens and describes each flag',
  async ({ name, command }) => {
    const { stdout } = await runCli([...name.split(' '), '--help']);
    expect(stdout).toContain(command.describe);
    expect(stdout.split('\n').length).toBeLessThanOrEqual(110);
    const flags = [...stdout.matchAll(/^ {6}--([\w-]+)( +[^ [].*)?$/gm)];
    expect(flags.length).toBeGreaterThan(0);
    for (const [, flag, described] of flags) expect(described, flag).toMatch(/^ +[A-Z0-9h-]/);
  },
);

test('completes commands, flags and choices', async () => {
  const completed = async (...words: string[]) =>
    (await runCli(['--get-yargs-completions', 'escapement', ...words])).stdout.split('\n').filter(Boolean);
  expect(await completed('simu')).toEqual(expect.arrayContaining([expect.stringMatching(/^simulate/)]));
  expect(await completed('simulate', '--se')).toEqual(
    expect.arrayContaining([expect.stringContaining('--seed')]),
  );
  expect(await completed('serve', '--log-level', 'w')).toEqual(expect.arrayContaining(['warn']));
});

test('keys lists keys and policies with their defaults', async () => {
  const { stdout } = await runCli(['keys']);
  expect(stdout).toMatch(/^ +slo (?:.*\n +){0,3}.*\[100ms\]$/m);
  expect(stdout).toMatch(/^ +policy\.scheduleAhead (?:.*\n +){0,5}.*\[10ms\]$/m);
  expect(stdout).toMatch(/^ +policy\.scheduleAhead (?:.*\n +){0,5}.*\[auto\]$/m);
  expect(stdout).toMatch(/^ +policy\.kind (?:.*\n +){0,4}.*\[escapement\]$/m);
  expect(stdout).toMatch(/^ +policy\.maxDelay (?:.*\n +){0,3}.*\[5ms\]$/m);
  expect(stdout).toMatch(/^ +workload\.onRate .*\[required\]$/m);
  for (const { key } of describeKeys()) expect(stdout).toContain(`  ${key} `);
});

test.each([
  ['cluster.noise', 'cluster.noise.exec', 'cluster.gpus'],
  ['symphony', 'policy.kind symphony', 'policy.scheduleAhead'],
])('keys %s is a part of them', async (prefix, has, hasNot) => {
  const { stdout } = await runCli(['keys', prefix, '--json']);
  const names = (JSON.parse(stdout) as { keys: { key: string; kind?: string }[] }).keys.map(
    ({ key, kind }) => (prefix === 'symphony' ? `policy.kind ${kind}` : key),
  );
  expect(names).toContain(has);
  expect(names).not.toContain(hasNot);
});

test('a full disk behind standard output is reported in one line', ({ skip }) => {
  if (!existsSync('/dev/full')) skip('no /dev/full here');
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'config'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(full);
  expect(stderr).toMatch(
    /^escapement: E_FILE_WRITE: standard output: cannot be written: no space left on device \(ENOSPC\)\n$/,
  );
  expect(status).toBe(22);
});

test.each([
  [['--set', 'slo=1s', 'config', '--json']],
  [['config', '--json', 'true', '--set=slo=1s']],
  [['config', '--json=true', '--set', 'slo=1s']],
])('%j is config --set slo=1s --json', async (args) => {
  const same = await runCli(['config', '--set', 'slo=1s', '--json']);
  expect(JSON.parse(same.stdout)).toHaveProperty('settings');
  expect(await runCli(args)).toEqual(same);
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
