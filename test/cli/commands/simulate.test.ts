import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runResultSchema } from '../../../src/record/schema.js';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, words, writeIn } from '../run-cli.js';

test('- reads the experiment from standard input, with paths from the working directory', async () => {
  const dir = tempDir();
  writeIn(dir, 'trace.csv', 'arrival_ns,model_id,slo_ns\n5,0,100000000\n');
  const withTrace = SMALL_EXPERIMENT.replace(
    /^workload:.*$/m,
    'workload: { kind: arrivals, path: trace.csv }',
  );
  const pipe = (input: string, ...args: string[]) => spawnCli(args, { cwd: dir, input });
  const { status, stdout, stderr } = await pipe(withTrace, 'simulate', '-', '--json', '--quiet');
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout).requests.offered).toBe(1);
  const broken = await pipe('seed: 1\nslo: [1\n', 'simulate', '-');
  expect(broken.stderr).toMatch(/^escapement: E_CONFIG_SYNTAX: standard input:\d: /);
  const sweep = await pipe(withTrace, 'sweep', '-', '--vary', 'slo=25ms,50ms', '--quiet');
  expect([sweep.status, sweep.stderr]).toEqual([0, '']);
  expect(existsSync(join(dir, 'out', 'stdin', 'results.json'))).toBe(true);
});

test('--out writes summary, logs and timeline, all whole', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout } = await runCli(
    words`simulate ${writeIn(dir, 'small.yaml', SMALL_EXPERIMENT)} --json --out ${out}`,
  );
  expect(status).toBe(0);
  expect(readdirSync(out).sort()).toEqual([
    'actions.tsv',
    'requests.tsv',
    'run.json',
    'summary.json',
    'timeline.json',
    'windows.csv',
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

test('thresholds go to a file for CI as JUnit XML', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
  const junit = join(dir, 'made', 'junit.xml');
  const run = ['simulate', file, '--quiet', '--junit', junit];
  const { status } = await runCli([...run, '--threshold', 'ok>0', '--threshold', 'p95<1us']);
  expect(status).toBe(3);
  expect(readFileSync(junit, 'utf8')).toContain(
    '<testsuite name="escapement simulate: small" tests="2" failures="1" errors="0">',
  );
  const nothing = await runCli(run);
  expect(nothing.stderr).toBe('escapement: E_USAGE: missing option: --junit needs --threshold\n');
  const nowhere = await runCli(words`${run.slice(0, 3)} --threshold ok>0 --junit /dev/null/junit.xml`);
  expect(nowhere).toMatchObject({ status: 22, stdout: '' });
});

test('report draws a run with its SLO and how to run it again; another run drops that report', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const run = ['simulate', writeIn(dir, 'small.yaml', SMALL_EXPERIMENT), '--out', out, '--quiet'];
  await runOk([...run, '--set', 'slo=50ms', '--seed', '7']);
  const { status, stdout } = await runCli(['report', out]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^seed +7\n(?:.*\n)*report: .*report\.html\n$/);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).toContain('within their SLO of 50 ms');
  expect(page).toContain('--set slo=50ms \\\n  --set seed=7');
  expect(page).toContain('name: small');
  await runOk(run);
  expect(existsSync(join(out, 'report.html'))).toBe(false);
  expect(readdirSync(join(out, 'charts'))).toEqual([]);
});

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

test('a trace in microseconds is named, and neither an instant nor nothing has a rate', async () => {
  const dir = tempDir();
  const file = writeIn(
    dir,
    'x.yaml',
    'models: { kind: fit, name: m, parameters: 1M }\nworkload: { kind: arrivals, path: t.csv }\n',
  );
  const simulate = async (times: readonly number[]) => {
    writeIn(dir, 't.csv', `arrival_ns,model_id,slo_ns\n${times.map((ns) => `${ns},0,500000000\n`).join('')}`);
    return runCli(['simulate', file]);
  };
  const late = await simulate([1731690000000000, 1731690000100000]);
  expect(late.stderr).toMatch(
    /t\.csv: the first arrival lies 20 days after the start: its times look like microseconds/,
  );
  expect(late.stdout).toMatch(/goodput +<0\.01 of <0\.01 requests\/s offered \(100 %\)/);
  const instant = await simulate([0, 0]);
  expect(instant.stderr).not.toContain('first arrival');
  expect(instant.stdout).toMatch(/goodput +– of – requests\/s offered \(100 %\)/);
});
