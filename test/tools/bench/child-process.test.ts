import { expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { BenchChild } from '../../../src/tools/bench/child-process.js';
import { loadServer, metricSum } from '../../../src/tools/bench/stages.js';
import { machineOf } from '../../../src/tools/bench/subject.js';
import { until } from '../../cli/server-process.js';
import { CPU, failure, tempDir, writeIn } from '../../live/models/fixtures.js';
import { subjectOf, workerModel } from './fixtures.js';

async function spec(batchSize: number) {
  const { onnx } = makeModel('mlp', { input: 8, seed: 1, classes: 3 });
  const path = writeIn(tempDir(), 'small/1/model.onnx', onnx);
  const { signature } = await readModelFile(path);
  const { ortPath } = await optimizeModel(path, 'cpu');
  return { device: CPU, models: [{ name: 'small', ortPath, signature, batchSize }] };
}

it('runs a device by itself, in full batches, and tells what it used', async () => {
  const child = await BenchChild.start({ kind: 'device', ...(await spec(4)) });
  const { requests, tookNs } = await child.trial(0.05);
  expect(requests % 4).toBe(0);
  expect(requests).toBeGreaterThan(0);
  expect(tookNs).toBeGreaterThanOrEqual(50e6);
  const { busy, cores } = await child.usage();
  expect(busy).toBeGreaterThanOrEqual(0);
  expect(cores).toBeGreaterThan(0);
  await child.stop();
});

it('reports the coded error of a child, and ends it', async () => {
  const { device, models } = await spec(1);
  const ortPath = writeIn(tempDir(), 'broken.ort', 'nothing');
  const broken = { device, models: [{ ...models[0], ortPath }] };
  expect((await failure(BenchChild.start({ kind: 'device', ...broken }))).code).toBe('E_MODEL_FILE');
});

it('says what a child said last when it dies', async () => {
  const { device, models } = await spec(1);
  const missing = { device, models: [{ ...models[0], ortPath: '/nowhere.ort' }] };
  const { message } = await failure(BenchChild.start({ kind: 'device', ...missing }));
  expect(message).toMatch(/^the device process ended with status 1: .*\/nowhere\.ort/s);
});

it('tells at once that a server is killed under load', async () => {
  const subject = await subjectOf([workerModel('small', { 1: 1 })]);
  const server = await BenchChild.start({
    kind: 'server',
    gpu: machineOf(subject, true),
    settings: subject.settings,
  });
  const options = { protocol: 'http', clients: 2, trials: 1, seconds: 1000 } as const;
  const failing = failure(loadServer('io', server, subject, options));
  const answered = async () => {
    const metrics = await fetch(`http://127.0.0.1:${server.ports.metrics}/metrics`);
    return metricSum(await metrics.text(), 'escapement_requests_total') > 0;
  };
  await until(answered);
  await server.stop();
  const { code, message } = await failing;
  expect(code).toBe('E_SERVER');
  expect(message).toMatch(/^the server process was killed by SIGKILL/);
});
