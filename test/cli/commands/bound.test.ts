import { expect, test } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from '../run-cli.js';

test('says where the bound is not strict', async () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const { stdout } = await runCli(['bound', file, '--set', 'cluster.noise.exec=5%']);
  expect(stdout).toMatch(/^offered: .*[^.]\.$/m);
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
