import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PlanResult } from '../../src/planner/plan-result.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

const TARGET = ['--target', 'sloAttainment>=0.9'];
const GPUS = [...TARGET, '--over', 'cluster.gpus=1:16'];

test('finds the fewest GPUs, says by how much, and writes the plan and a page', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(['plan', small(dir), ...GPUS, '--out', out]);
  expect(status).toBe(0);
  expect(stderr).toMatch(/^seed 1, 2, 3: 16 values to choose from/);
  const [, answer] = /^Fewest GPUs with sloAttainment>=0\.9: (\d+)$/m.exec(stdout) as unknown as [
    string,
    string,
  ];
  const before = String(Number(answer) - 1);
  expect(stdout).toMatch(/^GPUs {2}sloAttainment>=0\.9 {2}meets$/m);
  expect(stdout).toMatch(new RegExp(`^ +${answer} +[\\d.]+ % ± [\\d.]+ {2}yes$`, 'm'));
  expect(stdout).toMatch(
    new RegExp(`^${answer} GPUs reach .* above 90 %\\); ${before} GPUs? reach(es)? .* below 90 %\\)$`, 'm'),
  );
  const plan = JSON.parse(readFileSync(join(out, 'plan.json'), 'utf8')) as PlanResult;
  expect(plan).toMatchObject({ version: 1, outcome: 'boundary', answer, before, superlative: 'fewest' });
  expect(plan.tried.map(({ value }) => Number(value))).toEqual(
    plan.tried.map(({ value }) => Number(value)).sort((left, right) => left - right),
  );
  const page = readFileSync(join(out, 'plan.html'), 'utf8');
  expect(page).toContain(`Fewest GPUs with sloAttainment&#62;=0.9: ${answer}`);
  expect(page).toContain('<svg');
  expect(page).toContain('escapement plan experiment.yaml');
});

test('gives the same bytes with one thread, with four, and after an interruption', async () => {
  const dir = tempDir();
  const plan = (out: string, ...flags: string[]) => [
    'plan',
    small(dir),
    ...GPUS,
    '--out',
    join(dir, out),
    ...flags,
  ];
  await runOk(plan('one', '--threads', '1'));
  await runOk(plan('four', '--threads', '4'));
  const stopped = await runCli(plan('stopped', '--threads', '1'), {
    interruptWhen: (stderr) => /plan \d+%/.test(stderr),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.stderr).toMatch(/interrupted: \d+ runs are kept in /);
  expect(existsSync(join(dir, 'stopped', 'plan.json'))).toBe(false);
  const resumed = await runCli(plan('stopped', '--threads', '2'));
  expect(resumed.stderr).toMatch(/\d+ runs were finished before/);
  for (const name of ['plan.json', 'plan.html']) {
    const bytes = readFileSync(join(dir, 'one', name));
    expect(readFileSync(join(dir, 'four', name)).equals(bytes)).toBe(true);
    expect(readFileSync(join(dir, 'stopped', name)).equals(bytes)).toBe(true);
  }
});

test('finds the highest load and the tightest objective, in the units of the range', async () => {
  const dir = tempDir();
  const load = await planOf(dir, ...TARGET, '--over', 'workload.rate=50/s:2000/s');
  expect(load).toMatchObject({ outcome: 'boundary', superlative: 'highest' });
  expect(load.answer).toMatch(/^\d+\/s$/);
  expect(Number.parseFloat(load.before!)).toBeGreaterThan(Number.parseFloat(load.answer!));
  const slo = await planOf(dir, ...TARGET, '--over', 'slo=10ms:500ms:10ms', '--target', 'timeout<10%');
  expect(slo).toMatchObject({ outcome: 'boundary', superlative: 'tightest' });
  expect(slo.answer).toMatch(/^\d+0ms$/);
  expect(slo.tried[0]!.figures).toHaveLength(2);
});

test('a range that meets throughout does not bind, and its better end must be known', async () => {
  const dir = tempDir();
  const easy = ['--target', 'sloAttainment>=0.01'];
  const plan = await planOf(dir, ...easy, '--over', 'cluster.gpus=2:4');
  expect(plan).toMatchObject({ outcome: 'whole', answer: '2', before: null });
  expect(plan.notes[0]).toMatch(/both ends of the range meet: it does not bind; widen it below 2/);
  const maxBatch = ['plan', small(dir), ...easy, '--over', 'policy.maxBatch=2:8', '--quiet'];
  const { status, stderr } = await runCli(maxBatch);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('add --prefer low or') });
  expect((await runCli([...maxBatch, '--prefer', 'high'])).stdout).toContain('Highest max_batch with');
});

test('where nothing meets it says how close the best came, with the status of a missed threshold', async () => {
  const dir = tempDir();
  const { status, stdout, stderr } = await runCli([
    'plan',
    small(dir),
    ...TARGET,
    '--over',
    'slo=2ms:10ms',
    '--quiet',
  ]);
  expect(status).toBe(3);
  expect(stdout).toMatch(/^closest: SLO 10 ms reaches .* below 90 %\)$/m);
  expect(stderr).toBe('escapement: E_THRESHOLD: No value from 2ms to 10ms meets sloAttainment>=0.9\n');
});

test.each([
  [['--over', 'slo=1ms:9ms'], 2, /E_USAGE: --target is missing/],
  [TARGET, 2, /E_USAGE: --over is missing/],
  [['--target', 'p99<3', '--over', 'slo=1ms:9ms'], 2, /E_USAGE: --target 'p99<3': a latency needs a unit/],
  [
    [...TARGET, '--over', 'cluster.gpu=1:4'],
    11,
    /E_CONFIG_KEY: --over cluster\.gpu=1: .*did you mean "gpus"/,
  ],
  [[...TARGET, '--over', 'slo=10:20'], 13, /E_CONFIG_UNIT: --over slo=10: .*no unit/],
  [[...TARGET, '--over', 'slo=20ms:10ms'], 2, /E_USAGE: .*must ascend/],
  [
    [...TARGET, '--over', 'cluster.gpus=0:4'],
    12,
    /E_CONFIG_VALUE: --over cluster\.gpus=0: must be at least 1/,
  ],
  [[...TARGET, '--over', 'policy.kind=1:4'], 2, /E_USAGE: --over policy\.kind: holds no number/],
  [
    [...TARGET, '--over', 'policy.scheduleAhead=1ms:9ms', '--set', 'policy.kind=fifo'],
    11,
    /E_CONFIG_KEY: --over policy\.scheduleAhead=1ms: fifo has no scheduleAhead/,
  ],
  [[...GPUS, '--html', '/dev/null/p.html'], 22, /E_FILE_WRITE: \/dev\/null\/p\.html: cannot be written/],
  [[...TARGET, '--over', 'slo=1ms:9ms', '--prefer', 'mid'], 2, /E_USAGE: --prefer mid: write low or high/],
])('%j is one line before anything runs', async (flags, exit, message) => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(['plan', small(dir), ...flags, '--out', out]);
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
  expect(existsSync(out)).toBe(false);
});

async function planOf(dir: string, ...flags: string[]): Promise<PlanResult> {
  const { stdout, stderr } = await runCli(['plan', small(dir), ...flags, '--quiet', '--json']);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

function small(dir: string): string {
  return writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
}
