import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasShared, runCli, SMALL_EXPERIMENT, TRACES, tempDir, writeIn } from '../run-cli.js';

test('convert writes the arrivals that the experiment plays: replaying them decides the same', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
  const arrivals = join(dir, 'arrivals.csv.gz');
  expect((await runCli(['trace', 'convert', file, arrivals])).status).toBe(0);
  const digest = async (...flags: string[]) => {
    const { stdout } = await runCli(['simulate', file, '--json', '--quiet', ...flags]);
    return JSON.parse(stdout).digest as string;
  };
  const replay = ['--set', `workload={kind: arrivals, path: ${arrivals}, duration: 2s}`];
  expect(await digest(...replay)).toBe(await digest());
});

test('convert keeps the lengths of a trace', async () => {
  const dir = tempDir();
  const arrivals = 'arrival_ns,model_id,slo_ns,length\n0,0,500000000,40\n7,1,500000000,3\n';
  writeIn(dir, 'a.csv', arrivals);
  const models = 'models: { kind: fit, parameters: 1M, copies: 2 }';
  const file = writeIn(dir, 'a.yaml', `${models}\nworkload: { kind: arrivals, path: a.csv }\n`);
  expect((await runCli(['trace', 'convert', file, join(dir, 'out.csv')])).stderr).toBe('');
  expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe(arrivals);
});

test('convert writes names where an index could be taken for one', async () => {
  const dir = tempDir();
  const models =
    'models: [{ kind: fit, name: "1", parameters: 1M }, { kind: fit, name: "0", parameters: 1M }]';
  const workload = 'workload: { kind: arrivals, path: in.csv }';
  writeIn(dir, 'in.csv', 'arrival_ns,model_id,slo_ns\n0,1,500000000\n3,0,500000000\n');
  const file = writeIn(dir, 'numbers.yaml', `${models}\n${workload}\n`);
  expect((await runCli(['trace', 'convert', file, join(dir, 'out.csv')])).status).toBe(0);
  expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe(readFileSync(join(dir, 'in.csv'), 'utf8'));
});

test('convert refuses clients whose arrivals depend on answers', async () => {
  const dir = tempDir();
  const workload = 'workload: { kind: closed-loop, clients: 2, duration: 1s }';
  const file = writeIn(dir, 'closed.yaml', SMALL_EXPERIMENT.replace(/workload: .*/, workload));
  const { status, stderr } = await runCli(['trace', 'convert', file, join(dir, 'out.csv')]);
  expect(stderr).toMatch(/^escapement: E_USAGE: closed-loop clients/);
  expect(status).toBe(2);
});

test.skipIf(!hasShared)('convert slices a real trace', async () => {
  const dir = tempDir();
  const trace = join(TRACES, 'azure2019_invitro_100f_480min_invocations.csv');
  const models = 'models: { kind: fit, parameters: 1M, copies: 5 }';
  const workload = `workload: { kind: azure-2019, path: ${trace}, minutes: "10:12" }`;
  const file = writeIn(dir, 'slice.yaml', `${models}\n${workload}\nslo: 50ms\n`);
  expect((await runCli(['trace', 'convert', file, join(dir, 'slice.csv')])).status).toBe(0);
  const [header, ...rows] = readFileSync(join(dir, 'slice.csv'), 'utf8').trimEnd().split('\n');
  expect(header).toBe('arrival_ns,model_id,slo_ns');
  expect(rows.length).toBeGreaterThan(500);
  for (const row of rows) {
    const [arrivalNs, model, sloNs] = row.split(',').map(Number) as [number, number, number];
    expect(arrivalNs).toBeLessThan(120e9);
    expect(model).toBeLessThan(5);
    expect(sloNs).toBe(50e6);
  }
});
