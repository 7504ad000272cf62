import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, words, writeIn } from '../run-cli.js';

test('generate makes a trace that info reads, the same one from the same seed', async () => {
  const dir = tempDir();
  const generate = (name: string, seed: string) =>
    runCli(words`trace generate --functions 40 --minutes 30 --rate 20/s --seed ${seed} ${join(dir, name)}`);
  await Promise.all([generate('a.csv.gz', '1'), generate('b.csv.gz', '1'), generate('c.csv.gz', '2')]);
  const read = (name: string) => gunzipSync(readFileSync(join(dir, name)));
  expect(read('b.csv.gz').equals(read('a.csv.gz'))).toBe(true);
  expect(read('c.csv.gz').equals(read('a.csv.gz'))).toBe(false);
  const { stdout } = await runCli(['trace', 'info', join(dir, 'a.csv.gz'), '--json']);
  const info = JSON.parse(stdout);
  expect(info).toMatchObject({ kind: 'azure-2019', functions: 40, minutes: 30 });
  expect(info.meanRps).toBeCloseTo(20, 0);
});

test('info has a dash for a figure that the trace does not have', async () => {
  const dir = tempDir();
  const counts = writeIn(dir, 'zero.csv', 'HashFunction,1,2,3\nf,0,0,0\ng,0,0,0\n');
  const once = writeIn(dir, 'once.csv', 'arrival_ns,model_id,slo_ns\n0,0,1\n0,0,1\n');
  const [zero, instant] = [await runCli(['trace', 'info', counts]), await runCli(['trace', 'info', once])];
  expect(zero.stdout).toMatch(/first, last arrival\s+–, –\nmean rate\s+0\/s\nbusiest minute\s+–\n/);
  expect(zero.stdout).toMatch(/top 10 functions\s+–\n/);
  expect(instant.stdout).toMatch(
    /mean rate\s+–\nbusiest minute\s+–\nvariance \/ mean of minutes\s+–\nmodels active in a mean minute\s+–\n/,
  );
  expect(zero.stdout + instant.stdout).not.toMatch(/NaN|undefined|null|Infinity/);
});

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
