import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runCli, tempDir, words, writeIn } from './run-cli.js';

/** Two requests at one instant: there is no time to divide by. */
const INSTANT = 'arrival_ns,model_id,slo_ns\n0,0,500000000\n0,0,500000000\n';
const SECOND = 'arrival_ns,model_id,slo_ns\n0,0,500000000\n1000000000,0,500000000\n';
const EXPERIMENT = `models: { kind: fit, name: m, parameters: 1M }
cluster: { gpus: [{ kind: v100, count: 1, price: 2.5/h }] }
workload: { kind: arrivals, path: instant.csv }
`;
const SENDERS = words`--set ${'classes=[{ name: gold, weight: 3 }, { name: bulk }]'} --set ${'tenants.list=[{ name: a }, { name: b }]'}`;
const dir = tempDir();
const run = (...args: string[]) => runCli([...args, '--quiet'], { cwd: dir });
const readText = (...names: string[]) => readFileSync(join(dir, ...names), 'utf8');
/** The first rate over a nanosecond that a page shows. */
const rateIn = (page: string) =>
  page.replaceAll(/<(style|script).*?<\/\1>|<[^>]*>/gs, ' ').match(/\d{3},\d{3},\d{3}/)?.[0];

beforeAll(async () => {
  writeIn(dir, 'instant.csv', INSTANT);
  writeIn(dir, 'second.csv', SECOND);
  writeIn(dir, 'x.yaml', EXPERIMENT);
  await run('simulate', 'x.yaml', ...SENDERS, '--out', 'instant');
});

it('a run without a span has no rates and no utilization, wherever it is shown', async () => {
  const none = { offeredRps: null, goodputRps: null, attainment: 1 };
  expect(JSON.parse(readText('instant', 'summary.json'))).toMatchObject({
    ...{ ...none, durationSeconds: 0, weightedOfferedRps: null, weightedGoodputRps: null },
    weightedAttainment: 1,
    by: {
      class: [{ ...none, gpuShare: null }, { goodputRps: null }],
      tenant: [{ ...none, gpuShare: null }, { goodputRps: null }],
      kind: [{ execUtilization: null, weightsUtilization: null }],
    },
    gpu: { execUtilization: null, weightsUtilization: null },
    cost: { perHour: 2.5, perMillionInTime: null },
  });
  const { windows, slices } = JSON.parse(readText('instant', 'run.json'));
  expect(windows).toMatchObject([
    { offeredRps: null, goodputRps: null, failedRps: null, execUtilization: null },
  ]);
  expect(slices.seconds).toEqual([]);
  expect(await runCli(['check', 'instant'], { cwd: dir })).toMatchObject({ status: 0 });

  await runCli(['report', 'instant'], { cwd: dir });
  const page = readText('instant', 'report.html');
  expect(page.match(/<h1>.*<\/h1>/)?.[0]).toBe('<h1>2 of 2 requests within their SLO of 500 ms</h1>');
  expect(rateIn(page)).toBeUndefined();

  await run('simulate', 'x.yaml', '--set', 'workload.path=second.csv', '--out', 'second');
  const { stdout } = await runCli(['compare', 'instant', 'second'], { cwd: dir });
  expect(stdout).toMatch(/^goodput +– +2\/s +– +–$/m);
});

it('a threshold or target on a rate fails, with the reason', async () => {
  const text = 'the run has no span: all requests arrived at one instant';
  for (const threshold of ['goodputRps>=1', 'goodputRps<=1e12', 'execUtilization<=1', 'costPerMillion<1']) {
    const missed = await run('simulate', 'x.yaml', '--threshold', threshold);
    expect(missed).toMatchObject({ status: 3, stdout: expect.stringContaining(`✗ ${threshold}: ${text}`) });
  }
  const planned = await run('plan', 'x.yaml', '--over', 'cluster.gpus.v100=1:2', '--target', 'goodputRps>=1');
  expect(planned).toMatchObject({
    status: 3,
    stdout: expect.stringContaining(`${text} at 1 × v100, the closest`),
  });
  const bound = await runCli(['bound', 'x.yaml', '--json'], { cwd: dir });
  expect(JSON.parse(bound.stdout)).toMatchObject({ offeredRps: null, fluidRps: null, bestRps: null });
});

it('a trace without an arrival in the measured time is named so', async () => {
  const { stderr } = await runCli(
    ['simulate', 'x.yaml', '--set', 'workload={ kind: arrivals, path: late.csv, duration: 1s }'],
    { cwd: writeIn(dir, 'late.csv', 'arrival_ns,model_id,slo_ns\n5000000000,0,500000000\n') && dir },
  );
  expect(stderr).toContain('no request arrived in the measured time, 0 to 1 s;');
});
