import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';

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

it('takes the longest of the profile', async () => {
  await expect(
    parseExperiment(text(BERT, '{ kind: constant, value: 512 }'), 'x.yaml'),
  ).resolves.toBeDefined();
});

it('says that a speed of 0 is too low', async () => {
  const gpus = 'cluster: { gpus: [{ kind: a }, { kind: b, speed: 0 }] }\n';
  const rest = 'models: { kind: zoo, varieties: 2 }\nworkload: { kind: poisson, rate: 5/s, duration: 1s }\n';
  await expect(parseExperiment(gpus + rest, 'x.yaml')).rejects.toMatchObject({
    what: 'must be above 0, found 0',
  });
});
