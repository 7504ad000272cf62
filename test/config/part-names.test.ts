import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { partNames } from '../../src/config/part-names.js';

function sections(...names: string[]) {
  const workload = names.map((name) => `  - { kind: poisson, rate: 1/s, duration: 1s${name} }\n`).join('');
  return parseExperiment(`models: { kind: zoo, varieties: 2 }\nworkload:\n${workload}`, 'sections.yaml');
}

test('sections without a name are called by their kind and a number that no other section has', async () => {
  const named = await sections('', ', name: poisson-2', '', ', name: chat', '');
  expect(partNames(named).group).toEqual(['poisson', 'poisson-2', 'poisson-3', 'chat', 'poisson-4']);
});

test('two sections with one name are refused', async () => {
  await expect(sections(', name: chat', '', ', name: chat')).rejects.toThrow('chat is listed twice');
});

test('one section is no group, and what an experiment lacks has no names', async () => {
  expect(partNames(await sections(''))).toEqual({
    ...{ group: [], class: [], tenant: [], length: [], pipeline: [], step: [], kind: [] },
    model: ['resnet50', 'mobilenetv2_100'],
  });
});
