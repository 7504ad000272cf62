import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { profileFileName } from '../../src/config/onnx-model.js';
import type { WorkerModel } from '../../src/live/model.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { readModelFile } from '../../src/live/models/repository.js';
import { POLICIES } from '../../src/policies/registry.js';
import { measureProfile } from '../../src/serve/measure-profile.js';
import { repositoryModels } from '../../src/serve/repository-models.js';
import { CPU, tempDir, writeIn } from '../live/models/fixtures.js';
import { PAGE_BYTES, serve } from './fixtures.js';

let models: WorkerModel[];

beforeAll(async () => {
  const repository = tempDir();
  for (const name of ['broken', 'sound']) {
    const { onnx } = makeModel('mlp', { input: 4, seed: 5, classes: 2 });
    const path = writeIn(repository, `${name}/1/model.onnx`, onnx);
    writeIn(repository, `${name}/config.yaml`, 'batchSizes: [1]\n');
    const { profile } = await measureProfile(await readModelFile(path), CPU, { runs: 3 });
    writeFileSync(join(repository, name, '1', profileFileName(CPU)), JSON.stringify(profile));
  }
  models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {});
  models[0] = { ...models[0], ortPath: writeIn(repository, 'garbage.ort', Buffer.alloc(4096, 7)) };
}, 60_000);

it.each(POLICIES.map(({ kind }) => kind))(
  '%s: a model that cannot be loaded costs the others nothing, and its requests get the cause at once',
  async (kind) => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
    const { http } = await serve({ devices: [CPU], models, pages: 20 }, ['slo=20s', `policy.kind=${kind}`], {
      log,
    });
    const data = [1, 2, 3, 4];
    const { name } = models[1].signature.inputs[0];
    const ask = (model: string) =>
      http.post(`/v2/models/${model}/infer`, {
        inputs: [{ name, datatype: 'FP32', shape: [1, 4], data }],
        parameters: { slo_ms: model === 'broken' ? 20_000 : 2000 },
      });
    const first = await ask('broken');
    expect([first.status, first.json.error]).toEqual([500, expect.stringMatching(/load|model/i)]);
    const others = await Promise.all(Array.from({ length: 20 }, () => ask('broken')));
    expect(others.map(({ status, json }) => [status, json.error])).toEqual(
      others.map(() => [500, first.json.error]),
    );
    expect((await ask('sound')).status).toBe(200);
    // Nothing is left to do. It was a full core.
    const usage = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(process.cpuUsage(usage).user / 1000).toBeLessThan(400);
    const complaints = lines.filter((line) => line.includes('the device failed'));
    expect([1, 2, 3]).toContain(complaints.length);
    expect(JSON.parse(complaints[0])).toMatchObject({ model: 'broken', error: first.json.error });
  },
  60_000,
);
