import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tensor } from 'onnxruntime-node';
import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { PRECISIONS } from '../../src/live/models/precision.js';
import { openSession } from '../../src/live/ort/open-session.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { repositoryModels } from '../../src/serve/prepare-model.js';
import { CPU, tempDir, writeIn } from '../live/models/fixtures.js';
import { PAGE_BYTES, serve } from './fixtures.js';

test('an FP16 model is measured, served and run in place of its FP32 twin', async () => {
  const dir = tempDir();
  const shape = { input: 8, seed: 3, classes: 4 };
  const [full, half] = PRECISIONS.map((precision) => makeModel('mlp', { ...shape, precision }).onnx);
  writeIn(dir, 'm/1/model.onnx', full);
  writeIn(dir, 'm/1/fp16/model.onnx', half);
  writeIn(dir, 'm/config.yaml', 'batchSizes: [1]\nslo: 20s\n');

  const said: string[] = [];
  const models = await repositoryModels(dir, CPU, PAGE_BYTES, (what) => said.push(what), {
    precision: 'fp16',
  });
  expect(said).toEqual([expect.stringMatching(/m\/1\/fp16\/profile\.cpu\.json is missing$/)]);
  expect(models[0].ortPath).toMatch(/m\/1\/fp16\/cpu-\w+\.ort$/);
  const profile = JSON.parse(readFileSync(join(dir, 'm/1/fp16/profile.cpu.json'), 'utf8'));
  expect(profile).toMatchObject({ name: 'm', precision: 'FP16' });

  const data = Array.from({ length: 8 }, (_, i) => Math.sin(i));
  const { server, http } = await serve({ devices: [CPU], models }, ['policy={kind: fifo}']);
  const tensor = { name: 'input', datatype: 'FP32', shape: [1, 8], data };
  const { status, json } = await http.post('/v2/models/m/infer', { inputs: [tensor] });
  await server.close();
  expect([status, json.outputs[0].datatype]).toEqual([200, 'FP32']);
  const answered = Float32Array.from(json.outputs[0].data);
  expect(answered).toEqual(await answerOf(half, data));
  expect(answered).not.toEqual(await answerOf(full, data));

  const text = `name: half
models: { kind: onnx, path: m }
workload: { kind: poisson, rate: 40/s, duration: 500ms }
slo: 5s
policy: { kind: fifo }
runtime: { precision: fp16 }
`;
  const experiment = await parseExperiment(text, join(dir, 'half.yaml'));
  expect(experiment.modelFiles).toEqual([join(dir, 'm/1/fp16/model.onnx')]);
  const { result } = await run(experiment, live());
  expect(result.summary.requests.ok).toBe(result.summary.requests.offered);
});

async function answerOf(onnx: Uint8Array, data: readonly number[]) {
  const session = await openSession(onnx, CPU, { level: 'all' });
  const { logits } = await session.run({ input: new Tensor('float32', Float32Array.from(data), [1, 8]) });
  await session.release();
  return logits.data;
}
