import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, writeIn } from './run-cli.js';

const SWEEP =
  'sweep: { vary: { slo: [10ms, 25ms], policy.kind: [clockwork, fifo] }, seeds: [1, 2], bound: true }\n';

/** A folder with a sweep of 8 cells that share 4 bounds, and the command lines for it. */
function folder(text = SMALL_EXPERIMENT + SWEEP) {
  const dir = tempDir();
  const file = writeIn(dir, 'run.yaml', text);
  const out = join(dir, 'out');
  const sweep = (...flags: string[]) => ['sweep', file, '--threads', '1', '--out', out, ...flags];
  const results = (where = out) => readFileSync(join(where, 'results.json'), 'utf8');
  return { dir, file, out, sweep, results };
}

it('shards fill a folder together, and the call without one reports as if it had run alone', async () => {
  const { dir, file, out, sweep, results } = folder();
  await runOk(['sweep', file, '--threads', '1', '--out', join(dir, 'alone')]);
  const parts = await Promise.all(
    [1, 2, 3].map((part) => spawnCli(sweep('--shard', `${part}/3`, '--json', '--quiet'))),
  );
  const printed = parts.map(({ stdout }) => JSON.parse(stdout));
  expect(printed.map(({ runs }) => runs)).toEqual([4, 4, 4]);
  expect(printed.map(({ reused, failed }) => [reused, failed])).toEqual(printed.map(() => [0, []]));
  expect(readdirSync(out).sort()).toEqual(['bounds', 'cells']);
  const { stderr } = await runOk(sweep());
  expect(stderr).toContain('8 finished cells were reused');
  expect(results()).toBe(results(join(dir, 'alone')));
});

it('a shard that was interrupted keeps its cells and goes on; what no shard ran, the last call runs', async () => {
  const { out, sweep, results } = folder();
  const stopped = await spawnCli(sweep('--shard', '1/2'), {
    interruptWhen: (stderr) => /shard 1\/2 \d+%/.test(stderr),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.stderr).toMatch(/interrupted: \d of 6 runs are kept in/);
  const resumed = await runOk(sweep('--shard', '1/2'));
  expect(resumed.stdout).toMatch(/^shard 1\/2: 6 runs, [1-6] of them finished before\n/);
  const finished = readdirSync(out, { recursive: true, encoding: 'utf8' });
  expect(finished.filter((name) => name.endsWith('.json'))).toHaveLength(6);
  expect(existsSync(join(out, 'results.json'))).toBe(false);
  await runOk(sweep());
  expect(JSON.parse(results()).cells).toHaveLength(8);
});

it('says which cells failed, and keeps the others', async () => {
  const { out, sweep } = folder(
    `${SMALL_EXPERIMENT.replace(/workload: .*/, 'workload: { kind: closed-loop, clients: 2, duration: 1s }')}${SWEEP}`,
  );
  const { status, stdout, stderr } = await runCli(sweep('--shard', '1/1'));
  expect(status).toBe(4);
  expect(readdirSync(join(out, 'cells'))).toHaveLength(4);
  expect(stdout).toMatch(/^failed: the bound of slo=.*: E_CONFIG_VALUE: .*closed-loop/m);
  expect(stderr).toMatch(/E_CELLS_FAILED: \d of \d+ runs of this shard failed/);
});

it.each([
  [['--shard', '1/2', '--threshold', 'p99<1s', '--junit', 'x.xml'], /--shard and --junit cannot be combined/],
  [['--shard', '3/2'], /--shard 3\/2: write I\/N/],
])('%o is a mistake, before anything is read or written', async (flags, words) => {
  const { out, sweep } = folder();
  const { status, stderr } = await runCli(sweep(...flags));
  expect([status, stderr]).toEqual([2, expect.stringMatching(words)]);
  expect(existsSync(out)).toBe(false);
});
