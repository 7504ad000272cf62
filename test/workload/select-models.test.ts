import { expect, test } from 'vitest';
import { selectModels } from '../../src/workload/select-models.js';
import { failure } from './support.js';

const names = ['resnet50-0', 'resnet50-1', 'bert', 'a.b'];

test('all models without patterns, else those that match, in index order and once', () => {
  expect([...selectModels(names)]).toEqual([0, 1, 2, 3]);
  expect([...selectModels(names, ['bert', 'resnet50*', '*-1'])]).toEqual([0, 1, 2]);
});

test('only the star is special', async () => {
  expect([...selectModels(names, ['a.b'])]).toEqual([3]);
  expect((await failure(() => selectModels(['axb'], ['a.b']))).code).toBe('E_UNKNOWN_MODEL');
});

test('a pattern of many stars takes no longer than its length', () => {
  const name = 'a'.repeat(60);
  const pattern = `${'a*'.repeat(30)}b`;
  expect(() => selectModels([name], [pattern])).toThrow(/matches no model/);
  expect([...selectModels([name, `${name}b`], [pattern])]).toEqual([1]);
});

test.each([
  ['*', 'any', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['ab*ba', 'aba', false],
  ['a**b', 'ab', true],
  ['*b*b*', 'ab', false],
  ['*ab*b', 'abab', true],
  ['a*', 'ba', false],
])('%s on %s: %s', (pattern, name, matches) => {
  const select = () => [...selectModels([name, 'other'], ['other', pattern])];
  if (matches) expect(select()).toContain(0);
  else expect(select).toThrow(/matches no model/);
});

test('a pattern that matches nothing is an error that lists models', async () => {
  const { code, message } = await failure(() => selectModels(names, ['resnet50*', 'vgg*']));
  expect(code).toBe('E_UNKNOWN_MODEL');
  expect(message).toMatch(/workload\.models: "vgg\*" matches no model.*bert/);
});
