import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, tempDir, writeIn } from './run-cli.js';

const TENANTS = `models: { kind: zoo, varieties: 2 }
tenants: { list: [{ name: others }, { name: big, share: 0.5 }, { name: small, share: 0.5 }] }
workload: { kind: poisson, rate: 50/s, duration: 1s, tenant: small }
output: { timeline: false }
`;
const NOT_FIRST =
  'not serve requests within them first: once over 5 % of all work is lost, requests above a share are refused';

test('simulate says what shares come to and whether they come first, and compare says it again', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'tenants.yaml', TENANTS);
  const simulated = async (policy: string, ...flags: string[]) => {
    const out = join(dir, policy);
    return (await runCli(['simulate', file, '--set', `policy.kind=${policy}`, '--out', out, ...flags]))
      .stderr;
  };
  const shares = 'tenants: others 50 %, big 25 %, small 25 % of what GPUs can do under overload\n';
  expect(await simulated('edf')).toContain(`warning: shares: the policy edf does ${NOT_FIRST}\n${shares}`);
  const own = await simulated('escapement');
  expect(own).toContain(shares);
  expect(own).not.toContain('warning');
  expect(await simulated('clockwork', '--quiet')).toBe('');
  const { stderr } = await runCli([
    'compare',
    ...['edf', 'clockwork', 'escapement'].map((name) => join(dir, name)),
  ]);
  expect(stderr).toBe(`warning: shares: the policies edf and clockwork do ${NOT_FIRST}\n`);
});
