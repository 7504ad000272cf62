import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

const dir = tempDir();
const NONE = ['--quiet', '--set', 'workload={ kind: poisson, rate: 1/h, duration: 10ms }'];
const CLASSES = ['--set', 'classes=[{ name: gold, weight: 3 }, { name: bulk }]'];
const readText = (...names: string[]) => readFileSync(join(dir, ...names), 'utf8');
const run = (...args: string[]) => runCli(args, { cwd: dir });

beforeAll(() => {
  writeIn(dir, 'x.yaml', SMALL_EXPERIMENT);
});

it('a run that offered nothing has no attainment, wherever it is shown', async () => {
  const { stdout } = await run('simulate', 'x.yaml', ...NONE, ...CLASSES, '--json', '--out', 'none');
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ offeredRps: 0, goodputRps: 0, attainment: null, weightedAttainment: null },
    by: { class: [{ attainment: null }, { attainment: null }] },
  });
  expect(await run('check', 'none')).toMatchObject({ status: 0 });

  await run('report', 'none');
  expect(readText('none', 'report.html')).toContain('<h1>No request was offered</h1>');

  await run('simulate', 'x.yaml', '--quiet', '--out', 'some');
  const compared = await run('compare', 'none', 'some');
  expect(compared.stdout).toMatch(/attainment – → \d+(\.\d)? %\./);
  expect(compared.stdout).toMatch(/^attainment +– +\d+(\.\d)? % +– +–$/m);
});

it('a threshold or target on it fails, with the reason', async () => {
  const missed = await run('simulate', 'x.yaml', ...NONE, '--threshold', 'attainment<=1');
  expect(missed.status).toBe(3);
  expect(missed.stdout + missed.stderr).toContain('no requests were offered');
  const planned = await run(
    'plan',
    'x.yaml',
    ...NONE,
    '--over',
    'cluster.gpus=1:2',
    '--target',
    'attainment>=0',
  );
  expect(planned.status).toBe(3);
  expect(planned.stdout).toMatch(/: no requests were offered at 1 GPU, the closest$/m);
});
