import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runResultSchema, summarySchema } from '../../src/metrics/schema.js';
import { hasShared, runCli, runOk, SHARED, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

test('--json prints one object of the published shape and nothing else on stdout', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { status, stdout, stderr } = await runCli(['simulate', file, '--json']);
  expect(status).toBe(0);
  const summary = summarySchema.strict().parse(JSON.parse(stdout));
  expect(summary).toMatchObject({ name: 'small', seed: 1, policy: 'clockwork', durationSeconds: 2 });
  expect(summary.requests.offered).toBeGreaterThan(700);
  expect(stderr).toMatch(new RegExp(`^seed 1\\n(?:.*\\n)*digest ${summary.digest}\\n$`));
});

test('for people the seed comes first and the digest last', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { stdout } = await runCli(['simulate', file, '--quiet']);
  expect(stdout).toMatch(/^seed +1\n(?:.*\n)*.*goodput(?:.*\n)*digest +[0-9a-f]{16}\n$/i);
});

test('the same seed gives the same digest, another seed another one', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const digest = async (...flags: string[]) => {
    const { stdout } = await runCli(['simulate', file, '--json', '--quiet', ...flags]);
    return JSON.parse(stdout).digest as string;
  };
  const [first, again, other] = [await digest(), await digest('--seed', '1'), await digest('--seed', '2')];
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('--set overrides keys of the file', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { stdout } = await runCli([
    'simulate',
    file,
    '--json',
    '--set',
    'policy={kind: fifo}',
    '--set',
    'workload.duration=1s',
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ policy: 'fifo', durationSeconds: 1 });
});

test('--out writes summary, logs and timeline, all whole', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout } = await runCli([
    'simulate',
    writeIn(dir, 'small.yaml', SMALL_EXPERIMENT),
    '--json',
    '--out',
    out,
  ]);
  expect(status).toBe(0);
  expect(readdirSync(out).sort()).toEqual([
    'actions.tsv',
    'requests.tsv',
    'run.json',
    'summary.json',
    'timeline.json',
  ]);
  const summary = JSON.parse(stdout);
  expect(readJson(join(out, 'summary.json'))).toEqual(summary);
  expect(runResultSchema.parse(readJson(join(out, 'run.json'))).summary).toEqual(summary);
  expect(readJson(join(out, 'timeline.json'))).toBeTruthy();
  const [header, ...rows] = readFileSync(join(out, 'requests.tsv'), 'utf8').trimEnd().split('\n');
  expect(header!.split('\t')).toEqual(
    expect.arrayContaining(['t', 'request_id', 'deadline_met', 'is_coldstart']),
  );
  expect(rows).toHaveLength(summary.requests.offered);
});

test('--out of a second run keeps nothing of the first', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const run = ['simulate', writeIn(dir, 'small.yaml', SMALL_EXPERIMENT), '--out', out, '--quiet'];
  await runOk(run);
  await runOk([...run, '--set', 'output={requestLog: false, actionLog: false, timeline: false}']);
  expect(readdirSync(out).sort()).toEqual(['run.json', 'summary.json']);
});

test('a threshold that is not met has an exit status of its own, after the figures', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const met = await runCli(['simulate', file, '--json', '--threshold', 'goodputRps>1']);
  expect(met.status).toBe(0);
  const missed = await runCli([
    'simulate',
    file,
    '--json',
    '--threshold',
    'goodputRps>1',
    '--threshold',
    'p50<1us',
  ]);
  expect(missed.status).toBe(3);
  expect(JSON.parse(missed.stdout).digest).toMatch(/^[0-9a-f]{16}$/);
  expect(missed.stderr).toMatch(/E_THRESHOLD: p50<1us: not met, p50 is [\d.]+ms/);
});

test('report draws a run with its objective and how to run it again; another run drops that report', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const run = ['simulate', writeIn(dir, 'small.yaml', SMALL_EXPERIMENT), '--out', out, '--quiet'];
  await runOk([...run, '--set', 'slo=50ms', '--seed', '7']);
  const { status, stdout } = await runCli(['report', out]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^seed +7\n(?:.*\n)*report: .*report\.html\n$/);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).toContain('within their objective of 50 ms');
  expect(page).toContain('--set slo=50ms \\\n  --set seed=7');
  expect(page).toContain('name: small');
  await runOk(run);
  expect(existsSync(join(out, 'report.html'))).toBe(false);
  expect(readdirSync(join(out, 'charts'))).toEqual([]);
});

test('report tells what is wrong with a folder', async () => {
  const dir = tempDir();
  writeIn(dir, 'run.json', '{"version":1,"summary":{}}');
  const { status, stderr } = await runCli(['report', dir]);
  expect(status).toBe(36);
  expect(stderr).toMatch(/^escapement: E_RESULTS: .*run\.json: experiment: is missing .*\n$/);
});

test.skipIf(!hasShared)('replays a reference workload to its published goodput', async () => {
  const workloads = join(SHARED, 'oracle', 'workloads');
  const file = writeIn(
    tempDir(),
    'reference.yaml',
    `seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: csv, path: ${join(workloads, 'models_resnet50_v2_x15.csv')} }
workload: { kind: arrivals, path: ${join(workloads, 'a_poisson_600.csv.gz')}, duration: 20s }
slo: 100ms
policy: { kind: clockwork, scheduleAhead: 10ms, maxBatch: 8, maxExec: 250ms }
`,
  );
  const { stdout } = await runCli(['simulate', file, '--json', '--quiet']);
  const { goodputRps, requests } = JSON.parse(stdout);
  expect(requests.offered).toBeGreaterThan(10_000);
  expect(Math.abs(goodputRps - 584.95)).toBeLessThan(3);
});

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
