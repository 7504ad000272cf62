import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkRun } from '../../../src/audit/check-run.js';
import { RESULTS_VERSION } from '../../../src/record/results-version.js';
import { loadResults } from '../../../src/report/index.js';
import { changeLog } from '../../audit/run-folder.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../run-cli.js';

const dir = tempDir();
const out = join(dir, 'out');

beforeAll(async () => {
  await runOk(['simulate', writeIn(dir, 'small.yaml', SMALL_EXPERIMENT), '--out', out, '--quiet']);
});

test('refuses a run whose log of actions is missing', async () => {
  const folder = join(dir, 'without-actions');
  cpSync(out, folder, { recursive: true });
  rmSync(join(folder, 'actions.tsv'));
  const { status, stderr } = await runCli(['check', folder]);
  expect([status, stderr]).toEqual([
    36,
    expect.stringMatching(/has no actions\.tsv; run the experiment again/),
  ]);
});

test.each(['check', 'report', 'explain', 'compare'])(
  '%s tells what is wrong with its folder',
  async (command) => {
    const loop = join(dir, `loop-${command}`);
    symlinkSync(loop, loop);
    const file = join(dir, 'small.yaml');
    const empty = mkdtempSync(join(dir, 'empty-'));
    const messages = [
      [join(dir, 'nowhere'), /nowhere: folder does not exist; pass the --out folder/],
      [file, /small\.yaml: is a file; pass the --out folder/],
      [empty, /: contains neither results\.json nor run\.json/],
      [loop, /: cannot be read \(ELOOP: /],
    ] as const;
    for (const [folder, message] of messages) {
      const { status, stderr } = await runCli([command, folder]);
      expect([status, stderr]).toEqual([36, expect.stringMatching(message)]);
    }
  },
);

test.each(['check', 'explain'])('%s refuses a sweep, which keeps no logs', async (command) => {
  const folder = mkdtempSync(join(dir, 'sweep-'));
  writeFileSync(join(folder, 'results.json'), JSON.stringify({ version: RESULTS_VERSION }));
  const { stderr } = await runCli([command, folder]);
  expect(stderr).toMatch(/: holds a sweep, which keeps no logs; simulate one of its cells with --out$/m);
});

test('names each claim that does not hold, by figure, file and line', async () => {
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
  expect(stdout).toMatch(/^\S+actions\.tsv:\d+: result: action \d+ already had a result$/m);
  expect(stderr).toMatch(
    /^escapement: E_CHECK: .*tampered: the logs contradict ok \(\d+ claimed, \d+ found\)/,
  );
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);

  const json = await runCli(['check', tampered, '--json']);
  expect(json.status).toBe(5);
  const audit = JSON.parse(json.stdout);
  expect(audit).toMatchObject({ ok: false, unchecked: [expect.stringMatching(/^name, seed/)] });
  expect(audit.violations.length).toBe(Math.min(10, audit.violationCount));
});

test('says how to allow for threads that wake late, for live runs in which nothing else is wrong', async () => {
  const late = join(dir, 'late');
  await runOk(['simulate', join(dir, 'small.yaml'), '--out', late, '--quiet']);
  changeLog(join(late, 'actions.tsv'), join(late, 'actions.tsv'), ([first, ...rows]) => [
    { ...first!, window_latest: first!.worker_exec_begin! - 1_000_000 },
    ...rows,
  ]);
  const hint = '; threads of a live run wake late, which --slack 2ms allows for';
  expect((await runCli(['check', late])).stderr).not.toContain(hint);
  const run = JSON.parse(readFileSync(join(late, 'run.json'), 'utf8'));
  run.summary.kind = 'live';
  writeFileSync(join(late, 'run.json'), JSON.stringify(run));
  const live = await runCli(['check', late]);
  expect([live.status, live.stderr.trimEnd().endsWith(hint)]).toEqual([5, true]);
  expect((await runCli(['check', late, '--slack', '2ms'])).status).toBe(0);
  const log = readFileSync(join(late, 'actions.tsv'), 'utf8');
  writeFileSync(join(late, 'actions.tsv'), `${log}${log.trimEnd().split('\n').at(-1)}\n`);
  const doubled = await runCli(['check', late]);
  expect(doubled.stderr).toMatch(/rules are broken/);
  expect(doubled.stderr).not.toContain(hint);
});

test.each([
  ['{"version":2', /run\.json: is not valid JSON \(perhaps truncated\); run the experiment again/],
  ['{}', /run\.json: is not a results file; run the experiment again with --out/],
  [
    '{"version":1}',
    new RegExp(
      `run\\.json: version: is of version 1, but this program reads version ${RESULTS_VERSION}; run the experiment again`,
    ),
  ],
])('check and report describe a damaged run.json alike: %s', (content, message) => {
  const damaged = mkdtempSync(join(dir, 'damaged-'));
  writeFileSync(join(damaged, 'run.json'), content);
  const problem = expect.objectContaining({ code: 'E_RESULTS', message: expect.stringMatching(message) });
  expect(() => checkRun(damaged, { slackNs: 0 })).toThrow(problem);
  expect(() => loadResults(damaged)).toThrow(problem);
});

test.each([
  [
    ['nowhere'],
    36,
    /^escapement: E_RESULTS: nowhere: folder does not exist; pass the --out folder of simulate/,
  ],
  [[out, '--slack', '3 parsecs'], 2, /^escapement: E_USAGE: --slack 3 parsecs: /],
])('%j is refused', async (args, code, message) => {
  const { status, stderr } = await runCli(['check', ...args]);
  expect([status, stderr]).toEqual([code, expect.stringMatching(message)]);
});
