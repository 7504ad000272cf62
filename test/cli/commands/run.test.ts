import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { summarySchema } from '../../../src/record/schema-summary.js';
import { runCli, runOk, tempDir, words, writeIn } from '../run-cli.js';

const EXPERIMENT = `name: twice
cluster: { gpus: 1, pages: 100 }
models: { kind: fit, name: model, parameters: 10M, copies: 3 }
workload: { kind: poisson, rate: 100/s, duration: 400ms }
slo: 1s
policy: { kind: clockwork, scheduleAhead: 10ms, latestDelta: 20s }
`;

const experiment = () => writeIn(tempDir(), 'twice.yaml', EXPERIMENT);

it('runs one experiment on both clocks, for compare and replay', async () => {
  const file = experiment();
  const dir = tempDir();
  const [live, simulated, journal] = [join(dir, 'live'), join(dir, 'simulated'), join(dir, 'run.journal')];
  const onLive = await runCli(['run', file, '--out', live, '--journal', journal, '--json']);
  expect(onLive.stderr).toMatch(/^live: requests were offered p50 .* later than intended$/m);
  expect(onLive.status).toBe(0);
  const summary = summarySchema.parse(JSON.parse(onLive.stdout));
  expect(summary).toMatchObject({ name: 'twice', kind: 'live', policy: 'clockwork', requests: { error: 0 } });
  expect(summary.requests.ok).toBeGreaterThan(0);
  expect(readdirSync(live)).toEqual(expect.arrayContaining(['run.json', 'summary.json']));
  expect(JSON.parse(readFileSync(join(live, 'summary.json'), 'utf8')).digest).toBe(summary.digest);

  const onVirtual = await runCli(words`run ${file} --mode simulate --out ${simulated} --json --quiet`);
  expect([onVirtual.status, onVirtual.stderr]).toEqual([0, '']);
  expect(JSON.parse(onVirtual.stdout).requests.offered).toBe(summary.requests.offered);

  await runOk(['report', live]);
  const page = readFileSync(join(live, 'report.html'), 'utf8');
  expect(page).toContain('live on 1 simulated GPU in real time · twice');
  expect(page).toContain('escapement run experiment.yaml \\\n  --mode live \\\n');
  expect(page).not.toMatch(/escapement simulate|on any machine; equal/);
  await runOk(['report', simulated]);
  const virtual = readFileSync(join(simulated, 'report.html'), 'utf8');
  expect(virtual).toContain('simulated · twice');
  expect(virtual).toContain('escapement simulate experiment.yaml \\\n  --set missedWindow=retry \\\n');

  const compared = await runCli(['compare', simulated, live]);
  expect(compared.status).toBe(0);
  const replay = await runCli(['replay', journal, '--json']);
  expect(replay.status).toBe(0);
  expect(JSON.parse(replay.stdout)).toMatchObject({ digest: summary.digest, truncated: false });
});

it('warns of settings that have no effect, live only', async () => {
  const env = { ESCAPEMENT_ARENAS: 'true' };
  const args = (mode: string) => ['run', experiment(), '--mode', mode, '--set', 'slo=2s', '--json'];
  const warning = /^warning: ESCAPEMENT_ARENAS is not an environment variable/m;
  expect((await runOk(args('live'), { env })).stderr).toMatch(warning);
  expect((await runOk(args('simulate'), { env })).stderr).not.toMatch(warning);
});

it('says in one line what is wrong', async () => {
  const file = experiment();
  const cases: [string[], number, RegExp][] = [
    [[file, '--mode', 'simulate', '--journal', 'x'], 2, /E_USAGE: --journal requires --mode live/],
    [[file, '--mode', 'later'], 2, /E_USAGE: .*mode/],
    [
      [file, '--set', 'live.device=cpu'],
      12,
      /E_CONFIG_VALUE: .*twice\.yaml: models: model model-0 has a profile only/,
    ],
    [[file, '--set', 'live.device=tpu'], 12, /E_CONFIG_VALUE: .*live\.device/],
    [[file, '--set', 'live.timeSkale=2'], 11, /E_CONFIG_KEY: .*timeScale/],
    [[file, '--journal', '/dev/null/x'], 22, /E_FILE_WRITE: /],
    [['/nowhere.yaml'], 20, /E_FILE_MISSING: \/nowhere\.yaml/],
  ];
  for (const [args, status, message] of cases) {
    const run = await runCli(['run', '--quiet', ...args]);
    expect(run.stderr, args.join(' ')).toMatch(message);
    expect(run.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1);
    expect(run.status, args.join(' ')).toBe(status);
  }
});
