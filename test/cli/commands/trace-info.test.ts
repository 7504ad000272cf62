import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasShared, runCli, TRACES, tempDir, writeIn } from '../run-cli.js';

test.skipIf(!hasShared).each([
  [
    'azure2019_invitro_100f_480min_invocations.csv',
    { kind: 'azure-2019', functions: 100, invocations: 339_657 },
  ],
  ['azure2019_invitro_335f_1440min_inv.csv', { kind: 'azure-2019', functions: 335, minutes: 1440 }],
  ['azure2021_first999_invocations.csv', { kind: 'azure-2021', invocations: 998 }],
  ['azure_llm2023_conv.csv', { kind: 'azure-llm', invocations: 19_366 }],
])('info reads %s', async (name, expected) => {
  const { stdout } = await runCli(['trace', 'info', join(TRACES, name), '--json']);
  expect(JSON.parse(stdout)).toMatchObject(expected);
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
