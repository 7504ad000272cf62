import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, runCli } from '../run-cli.js';

test('profile show prints latency, throughput and the source of every figure', async () => {
  const profiles = join(ROOT, 'experiments', 'profiles');
  const name = readdirSync(profiles).find((file) => file.startsWith('resnet50'));
  const { status, stdout } = await runCli(['profile', 'show', join(profiles, name!)]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^batch +ms +requests\/s$/m);
  expect(stdout).toMatch(/^ +8 +[\d.]+ +\d+ +█+$/m);
  expect(stdout).toContain('source of batches:');
});
