import { expect, test } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from '../run-cli.js';

test('prints each bound in requests/s and as a share of what was offered, and what it means', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { status, stdout } = await runCli(['bound', file, '--set', 'workload.rate=900/s']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^seed 1\n/);
  for (const name of ['offered', 'fluid', 'window-limited', 'priced', 'time-priced', 'bound'])
    expect(stdout).toMatch(new RegExp(`^${name} +[\\d,.]+ +[\\d.]+ %$`, 'm'));
  for (const name of ['fluid', 'window-limited', 'priced', 'time-priced', 'bound'])
    expect(stdout).toMatch(new RegExp(`^${name}: `, 'm'));
  expect(stdout).not.toContain('cluster.noise');
});

test('--json prints one object', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { stdout } = await runCli(['bound', file, '--json', '--seed', '2']);
  const figures = JSON.parse(stdout);
  expect(Object.keys(figures)).toEqual([
    'offeredRps',
    'fluidRps',
    'windowLimitedRps',
    'pricedRps',
    'timePricedRps',
    'bestRps',
  ]);
  expect(figures.bestRps).toBeLessThanOrEqual(figures.offeredRps);
});

test('says where the bound is not strict, and what is left out', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const flags = ['--set', 'cluster.noise.exec=5%', '--set', 'cluster.gpus=2'];
  const { stdout } = await runCli(['bound', file, ...flags]);
  expect(stdout).toMatch(/^priced +– +–$/m);
  expect(stdout).toContain('cluster.noise');
  const later = ['--set', 'cluster.changes=[{ at: 1s, noise: { exec: 5% } }]'];
  expect((await runCli(['bound', file, ...later])).stdout).toContain('cluster.changes');
});

test('says what the bounds of fairness and of weights mean', async () => {
  const file = writeIn(
    tempDir(),
    'small.yaml',
    `${SMALL_EXPERIMENT}\nclasses: [{ name: gold, weight: 2 }, { name: free }]`,
  );
  const fair = ['--set', 'policy={ kind: escapement, fairness: 0.5 }'];
  const { stdout } = await runCli(['bound', file, ...fair]);
  expect(stdout).toContain('weighted: Upper bound on weightedGoodputRps');
  expect(stdout).toContain('fair: Upper bound if no model may fall below');
});

test('refuses clients whose requests depend on the answers', async () => {
  const closed = SMALL_EXPERIMENT.replace(
    /^workload:.*$/m,
    'workload: { kind: closed-loop, clients: 2, duration: 1s }',
  );
  const { status, stderr } = await runCli(['bound', writeIn(tempDir(), 'closed.yaml', closed)]);
  expect(status).toBe(12);
  expect(stderr).toContain('workload.kind: closed-loop');
});
