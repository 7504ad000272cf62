import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

const dir = tempDir();
const out = join(dir, 'out');

beforeAll(async () => {
  await runOk(['simulate', writeIn(dir, 'small.yaml', SMALL_EXPERIMENT), '--out', out, '--quiet']);
});

test('shows each figure beside what the logs say, and each rule', async () => {
  const { status, stdout, stderr } = await runCli(['check', out]);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^figure +run\.json +logs$/m);
  expect(stdout).toMatch(/^goodputRps +(\d+(?:\.\d+)?) +\1 {2}✔$/m);
  expect(stdout).toMatch(/^window +\d+ +0 {2}✔ {2}a LOAD or INFER begins inside its window$/m);
  expect(stdout).not.toContain('✘');
});

test('names what is not as claimed, by figure, file and line', async () => {
  const run = JSON.parse(readFileSync(join(out, 'run.json'), 'utf8'));
  run.summary.requests.ok++;
  const tampered = join(dir, 'tampered');
  await runOk(['simulate', join(dir, 'small.yaml'), '--out', tampered, '--quiet']);
  writeFileSync(join(tampered, 'run.json'), JSON.stringify(run));
  const log = readFileSync(join(tampered, 'actions.tsv'), 'utf8');
  writeFileSync(join(tampered, 'actions.tsv'), `${log}${log.trimEnd().split('\n').at(-1)}\n`);

  const { status, stdout, stderr } = await runCli(['check', tampered]);
  expect(status).toBe(5);
  expect(stdout).toMatch(/^ok .* ✘$/m);
  expect(stdout).toMatch(/^\S+actions\.tsv:\d+: result: action \d+ has had a result before$/m);
  expect(stderr).toMatch(
    /^escapement: E_CHECK: .*tampered: the logs do not bear out ok \(\d+ claimed, \d+ found\)/,
  );
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);

  const json = await runCli(['check', tampered, '--json']);
  expect(json.status).toBe(5);
  const audit = JSON.parse(json.stdout);
  expect(audit).toMatchObject({ ok: false, unchecked: [] });
  expect(audit.violations.length).toBe(Math.min(10, audit.violationCount));
});

test.each([
  [
    ['nowhere'],
    36,
    /^escapement: E_RESULTS: nowhere\/run\.json: is not there; give the --out folder of a single run/,
  ],
  [[out, '--slack', '3 parsecs'], 2, /^escapement: E_USAGE: --slack 3 parsecs: /],
])('%j is refused', async (args, code, message) => {
  const { status, stderr } = await runCli(['check', ...args]);
  expect([status, stderr]).toEqual([code, expect.stringMatching(message)]);
});
