import { expect, it, test } from 'vitest';
import { fluidCapacityRps } from '../../src/config/finish-workloads.js';
import { parseExperiment } from '../../src/config/load.js';
import type { ModelSpec } from '../../src/core/model.js';

const model = (...execMs: number[]): ModelSpec => ({
  name: 'model',
  weightsBytes: 1,
  pages: 1,
  loadNs: 1,
  batchSizes: [1, 2, 4, 8, 16].slice(0, execMs.length),
  execNs: execMs.map((ms) => ms * 1e6),
  inputBytes: 0,
  outputBytes: 0,
});

const gpus = (count: number) => [{ gpus: count, pages: 1 }];
const CASE = { kinds: gpus(1), sloNs: 100e6, maxBatch: 8, mix: [1] };

test('only batches that end within the SLO count, and none above the largest', () => {
  const models = [model(4, 6, 8, 12, 16)];
  expect(fluidCapacityRps({ ...CASE, models })).toBeCloseTo(8 / 0.012, 9);
  expect(fluidCapacityRps({ ...CASE, models, maxBatch: 16 })).toBe(1000);
  expect(fluidCapacityRps({ ...CASE, models, sloNs: 6e6 })).toBeCloseTo(2 / 0.006, 9);
});

test('of several kinds of GPUs each gets the models that it is comparatively best at', () => {
  const on = (spec: ModelSpec, ...execMs: number[]) => ({
    ...spec,
    otherKinds: [{ loadNs: 1, execNs: execMs.map((ms) => ms * 1e6) }],
  });
  const kinds = [...gpus(1), ...gpus(1)];
  // Alone: one kind 1000 per second, the other 250.
  expect(fluidCapacityRps({ ...CASE, kinds, models: [on(model(1), 4)] })).toBeCloseTo(1250, 6);
  // Half of the requests are as fast on the slower kind, which serves no others.
  const models = [on(model(1), 4), on(model(1), 1)];
  expect(fluidCapacityRps({ ...CASE, kinds, models, mix: [1, 1] })).toBeCloseTo(2000, 6);
  // A model that does not fit, or is too slow there, is served by the other kind alone.
  const large = { ...on(model(1), 1), pages: 2 };
  const roomy = [{ gpus: 1, pages: 2 }, ...gpus(1)];
  expect(fluidCapacityRps({ ...CASE, kinds: roomy, models: [large] })).toBeCloseTo(1000, 2);
  expect(fluidCapacityRps({ ...CASE, kinds, models: [on(model(1), 101)] })).toBeCloseTo(1000, 2);
});

test('requests that no GPU could serve in time cost nothing; without others there is no capacity', () => {
  const models = [model(1), model(5)];
  // Of 2,000 requests per second the GPU can serve 1,000 and must refuse 1,000.
  expect(fluidCapacityRps({ ...CASE, models, mix: [1, 1], sloNs: 4e6 })).toBe(2000);
  expect(fluidCapacityRps({ ...CASE, models, mix: [1, 1], sloNs: 0.5e6 })).toBe(0);
});

const PROFILE = `${process.cwd()}/experiments/profiles/bert-base.estimate.v100.json`;
const text = (models: string, length: string) =>
  `models: ${models}\nworkload: { kind: poisson, rate: 50/s, duration: 1s, length: ${length} }\n`;
const BERT = `{ kind: profile, path: ${PROFILE} }`;

it.each([
  [
    'longer than the profile',
    text(BERT, '{ kind: uniform, to: 600 }'),
    'inputs as long as 600 are more than bert-base takes: its profile ends at 512',
  ],
  [
    'of models that take one length',
    text('{ kind: zoo, varieties: 2 }', '{ kind: constant, value: 20 }'),
    'no model of this workload takes inputs of several lengths: leave it out, or give a profile with shorter ones',
  ],
])('refuses lengths %s, with file and line', async (_, experiment, what) => {
  await expect(parseExperiment(experiment, 'x.yaml')).rejects.toMatchObject({
    ...{ code: 'E_CONFIG_VALUE', what },
    place: { file: 'x.yaml', line: 2, key: expect.stringContaining('length') },
  });
});
