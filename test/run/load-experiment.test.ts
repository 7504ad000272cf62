import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import { parseExperiment } from '../../src/config/load.js';
import { OUTCOME_OK } from '../../src/core/request.js';
import { runResultSchema } from '../../src/record/schema.js';
import { playExperiment } from '../../src/run/load-experiment.js';
import { simulate } from '../../src/run/simulated.js';
import { tempDir } from '../cli/run-cli.js';
import { FakeTarget } from '../load/fixtures.js';

const EXPERIMENT = `name: two
seed: 3
models: { kind: fit, name: model, parameters: 25.6M, copies: 3 }
workload:
  - { name: bursts, kind: gamma, cv: 3, rate: 300/s, duration: 400ms, popularity: { kind: zipf } }
  - { name: steady, kind: fixed, rate: 200/s, duration: 300ms, slo: 50ms, models: model-1 }
slo: 25ms
`;

const answering = () => new FakeTarget(({ done }) => done(OUTCOME_OK));

it('plays the requests of simulate, in their order', async () => {
  const experiment = await parseExperiment(EXPERIMENT, 'two.yaml');
  const dir = tempDir();
  await simulate(experiment, { outDir: dir });
  const rows = readFileSync(join(dir, 'requests.tsv'), 'utf8').trimEnd().split('\n').slice(1);
  const simulated = rows
    .map((row) => row.split('\t').map(Number))
    .sort((a, b) => a[1] - b[1])
    .map(([, , , user, model, , , sloNs]) => [user, model, sloNs]);

  const target = answering();
  await playExperiment(experiment, target);
  expect(simulated.length).toBeGreaterThan(100);
  expect(target.sent.map(({ user, model, sloNs }) => [user, model, sloNs])).toEqual(simulated);
});

it('sends to pipelines as to models, which have no steps for a client', async () => {
  const experiment = await parseExperiment(
    `models: { kind: zoo, varieties: 2 }
pipelines: { name: chain, steps: [{ id: a, model: resnet50 }, { id: b, model: resnet50, after: a }] }
workload: { kind: fixed, rate: 100/s, duration: 200ms, models: ['chain', 'resnet50'] }
slo: 1m`,
    'chain.yaml',
  );
  const dir = tempDir();
  const target = answering();
  const { result } = await playExperiment(experiment, target, { outDir: dir });
  const toChain = target.sent.filter(({ model }) => model === experiment.models.length).length;
  expect(toChain).toBeGreaterThan(0);
  expect(toChain).toBeLessThan(target.sent.length);
  const { pipeline, step } = runResultSchema.parse(result).summary.by;
  expect([pipeline![0]!.requests.ok, step]).toEqual([toChain, undefined]);
  writeFileSync(join(dir, 'run.json'), JSON.stringify(result));
  expect(checkRun(dir, { slackNs: 0 }).claims.filter(({ ok }) => !ok)).toEqual([]);
});

it('gives the result of a run, with what a client can know of it', async () => {
  const experiment = await parseExperiment(EXPERIMENT, 'two.yaml', ['warmup=100ms']);
  const dir = join(tempDir(), 'out');
  mkdirSync(dir);
  const target = answering();
  const { result, report } = await playExperiment(experiment, target, { outDir: dir });
  expect(runResultSchema.parse(result)).toEqual(result);
  const { summary } = result;
  expect(summary).toMatchObject({
    name: 'two',
    seed: 3,
    kind: 'load',
    durationSeconds: 0.3,
  });
  // They were not measured, so they are absent, not 0.
  const unseen = ['digest', 'policy', 'actions', 'coldStarts', 'gpu', 'failures', 'gpuShare'];
  expect(Object.keys(summary).filter((name) => unseen.includes(name))).toEqual([]);
  expect(Object.keys(result.windows[0]!).filter((name) => /Utilization|loads/.test(name))).toEqual([]);
  const parts = Object.values(summary.by).flat();
  expect(parts.flatMap((part) => Object.keys(part).filter((name) => unseen.includes(name)))).toEqual([]);
  expect(result.setup).toEqual({ firstUsers: [0, expect.any(Number)] });
  expect(summary.by.group!.map(({ key, sloMs }) => [key, sloMs])).toEqual([
    ['bursts', 25],
    ['steady', 50],
  ]);
  expect(report.requests).toBe(target.sent.length);
  expect(summary.requests.offered).toBeLessThan(report.requests);
  const rows = readFileSync(join(dir, 'requests.tsv'), 'utf8').trimEnd().split('\n');
  expect(rows).toHaveLength(1 + report.requests);
  // GPUs that held the model, at its arrival and at its answer, and whether that was a cold start.
  expect(new Set(rows.slice(1).map((row) => row.split('\t').slice(9, 12).join()))).toEqual(
    new Set(['-1,-1,-1']),
  );
});
