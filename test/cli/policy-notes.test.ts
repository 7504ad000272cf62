import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, tempDir, words, writeIn } from './run-cli.js';

const TENANTS = `models: { kind: zoo, varieties: 2 }
tenants: { list: [{ name: others }, { name: big, share: 0.5 }, { name: small, share: 0.5 }] }
workload: { kind: poisson, rate: 50/s, duration: 1s, tenant: small }
output: { timeline: false }
`;
const notFirst = (who: string) =>
  `${who}: requests within a share do not come first; those above one may be refused under overload`;

test('simulate says what shares come to and whether they come first, and compare says it again', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'tenants.yaml', TENANTS);
  const simulated = async (policy: string, ...flags: string[]) => {
    const out = join(dir, policy);
    return (await runCli(['simulate', file, '--set', `policy.kind=${policy}`, '--out', out, ...flags]))
      .stderr;
  };
  const shares = 'tenants: others 50 %, big 25 %, small 25 % of what GPUs can do under overload\n';
  expect(await simulated('edf')).toContain(`warning: ${notFirst('policy edf')}\n${shares}`);
  const own = await simulated('escapement');
  expect(own).toContain(shares);
  expect(own).not.toContain('warning');
  expect(await simulated('clockwork', '--quiet')).toBe('');
  const { stderr } = await runCli([
    'compare',
    ...['edf', 'clockwork', 'escapement'].map((name) => join(dir, name)),
  ]);
  expect(stderr).toBe(`warning: ${notFirst('policies edf and clockwork')}\n`);
});

test('reports of runs, comparisons and sweeps say it too, and so do plans, with what shares come to', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'tenants.yaml', TENANTS);
  const [edf, own] = [join(dir, 'edf'), join(dir, 'escapement')];
  await runCli(['simulate', file, '--set', 'policy.kind=edf', '--out', edf]);
  await runCli(['simulate', file, '--set', 'policy.kind=escapement', '--out', own]);
  for (const folder of [edf, own]) await runCli(['report', folder]);
  const runs = join(dir, 'runs.html');
  await runCli(['compare', own, edf, '--html', runs]);
  const sweep = join(dir, 'sweep');
  const policies = ['--vary', 'policy.kind=edf,escapement', '--seeds', '1'];
  await runCli(['sweep', file, ...policies, '--out', sweep]);
  await runCli(['compare', sweep]);
  const saying = `${notFirst('Policy edf')}.`;
  for (const page of [
    join(edf, 'report.html'),
    runs,
    join(sweep, 'report.html'),
    join(sweep, 'policies.html'),
  ])
    expect(readFileSync(page, 'utf8')).toContain(saying);
  expect(readFileSync(join(own, 'report.html'), 'utf8')).not.toContain(saying);
  const planned = await runCli(
    words`plan ${file} --target attainment>=50% --over cluster.gpus=1:2 --seeds 1 --set policy.kind=edf`,
  );
  expect(planned.stdout).toContain(`note: ${notFirst('policy edf')}\n`);
  expect(planned.stdout).toContain('note: tenants: others 50 %, big 25 %, small 25 % of what GPUs can do');
});
