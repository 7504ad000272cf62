import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { profileFileName } from '../../src/config/onnx-model.js';
import { readModelFile } from '../../src/live/models/repository.js';
import { measureProfile } from '../../src/serve/measure-profile.js';
import { repositoryModels } from '../../src/serve/repository-models.js';
import { CPU, ELEMENT_TYPES, identityModel, tempDir, writeIn } from '../live/models/fixtures.js';
import { PAGE_BYTES, type Running, serve } from './fixtures.js';

/** 400 kB a request. */
const ELEMENTS = 100_000;

async function start(overrides: readonly string[]): Promise<Running> {
  const repository = tempDir();
  const path = writeIn(repository, 'same/1/model.onnx', identityModel(ELEMENT_TYPES.FP32, ['n', ELEMENTS]));
  writeIn(repository, 'same/config.yaml', 'batchSizes: [1, 2, 4]\nslo: 30s\n');
  const { profile } = await measureProfile(await readModelFile(path), CPU, { runs: 2 });
  writeFileSync(join(repository, 'same', '1', profileFileName(CPU)), JSON.stringify(profile));
  const models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {});
  return serve({ devices: [CPU], models, pages: 20 }, ['slo=30s', ...overrides]);
}

/** What the model makes of `count` requests in one body, whose elements begin at `first`. */
async function ask({ http }: Running, count: number, first: number) {
  const values = Float32Array.from({ length: count * ELEMENTS }, (_, i) => first + i);
  const json = JSON.stringify({
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [count, ELEMENTS],
        parameters: { binary_data_size: values.byteLength },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(json), Buffer.from(values.buffer)]);
  const answer = await http.post('/v2/models/same/infer', body, {
    'inference-header-content-length': String(json.length),
  });
  const head = Number(answer.headers.get('inference-header-content-length'));
  const { parameters } = JSON.parse(answer.bytes.toString('utf8', 0, head));
  const same = answer.bytes.subarray(head).equals(Buffer.from(values.buffer));
  return { status: answer.status, same, batchSize: parameters.batch_size as number };
}

it.each([['policy.kind=fifo'], ['policy.kind=clockwork']])(
  'large tensors come back as they were sent, alone and in batches: %s',
  async (policy) => {
    const running = await start([policy]);
    expect(await ask(running, 1, 0)).toMatchObject({ status: 200, same: true });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => ask(running, i % 4 === 3 ? 3 : 1, 1000 * i)),
    );
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, same: true });
    expect(Math.max(...answers.map(({ batchSize }) => batchSize))).toBeGreaterThan(1);
  },
);
