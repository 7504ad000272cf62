import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli, tempDir, writeIn } from './run-cli.js';

const EXPERIMENT = `cluster: { gpus: [{ kind: t4, count: 2, price: 0.35/h }] }
models: { kind: zoo, varieties: 2 }
classes: [{ name: visitor }, { name: customer, weight: 5 }]
tenants: { list: [{ name: shop }] }
workload: { kind: poisson, rate: 50/s, duration: 1s }
output: { timeline: false }
`;

const GOLD = 'class.gold.attainment>=50%';
const ACME = 'tenant.acme.goodputRps>=1';
const OVER = ['--over', 'cluster.gpus.t4=1:4'];

it.each([
  [
    'simulate',
    ['--threshold', GOLD],
    `--threshold '${GOLD}': no class is called gold; the experiment has visitor, customer`,
  ],
  ['sweep', ['--vary', 'slo=50ms,90ms', '--threshold', GOLD], 'no class is called gold'],
  ['plan', ['--target', ACME, ...OVER], `--target '${ACME}': no tenant is called acme`],
  ['load', ['--url', 'http://127.0.0.1:1', '--threshold', GOLD], 'no class is called gold'],
])('%s refuses %j before the first run', async (command, flags, message) => {
  const dir = tempDir();
  const file = writeIn(dir, 'experiment.yaml', EXPERIMENT);
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli([command, file, ...flags, '--out', out]);
  expect(stderr).toContain(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect({ status, stdout, out: existsSync(out) }).toEqual({ status: 2, stdout: '', out: false });
});

it('a sweep may compare experiments of which only some have the class', async () => {
  const dir = tempDir();
  const cases = 'sweep: { cases: { file: { with: {}, without: { classes: [{ name: other }] } } } }\n';
  const file = writeIn(dir, 'experiment.yaml', EXPERIMENT + cases);
  const flags = ['--threshold', 'class.customer.offered<1', '--threads', '1', '--out', join(dir, 'out')];
  const { status, stdout } = await runCli(['sweep', file, ...flags]);
  expect(stdout).toContain('the run has no class customer');
  expect(status).toBe(3);
});
