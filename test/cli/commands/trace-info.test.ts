import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasShared, runCli, TRACES } from '../run-cli.js';

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
