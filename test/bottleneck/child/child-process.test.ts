import { expect, it } from 'vitest';
import { BenchChild } from '../../../src/bottleneck/child/child-process.js';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { CPU, failure, tempDir, writeIn } from '../../live/models/fixtures.js';

async function spec(batchSize: number) {
  const { onnx } = makeModel('mlp', { input: 8, seed: 1, classes: 3 });
  const path = writeIn(tempDir(), 'small/1/model.onnx', onnx);
  const { signature } = await readModelFile(path);
  const { ortPath } = await optimizeModel(path, 'cpu');
  return { device: CPU, models: [{ name: 'small', ortPath, signature, batchSize, share: 1 }] };
}

it('runs a device by itself, in full batches, and tells what it used', async () => {
  const { child } = await BenchChild.start({ kind: 'synthetic', spec: await spec(4) });
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
  expect((await failure(BenchChild.start({ kind: 'synthetic', spec: broken }))).code).toBe('E_MODEL_FILE');
});

it('says what a child said last when it dies', async () => {
  const { device, models } = await spec(1);
  const missing = { device, models: [{ ...models[0], ortPath: '/nowhere.ort' }] };
  const { message } = await failure(BenchChild.start({ kind: 'synthetic', spec: missing }));
  expect(message).toMatch(/^the synthetic process ended with status 1: .*\/nowhere\.ort/s);
});
