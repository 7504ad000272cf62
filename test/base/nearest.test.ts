import { expect, it } from 'vitest';
import { nearest, suggestion } from '../../src/base/nearest.js';

it.each([
  ['verson', ['help', 'version'], 'version'],
  ['gups', ['pages', 'gpus'], 'gpus'],
  ['clustre', ['cluster', 'workload'], 'cluster'],
  ['SCHEDULE_AHEAD', ['scheduleAhead'], 'scheduleAhead'],
  // As many letters differ, but more of them agree.
  ['sed', ['set', 'seed'], 'seed'],
  ['sed', ['seed', 'set'], 'seed'],
  // The beginning of one, and one that it begins with.
  ['sim', ['simulate', 'sweep'], 'simulate'],
  ['output', ['out', 'seed'], 'out'],
  ['policy.fair', ['policy.rate', 'policy.fairness'], 'policy.fairness'],
  ['out', ['outs', 'outcomes'], 'outs'],
  ['prof', ['profile', 'profile show', 'profile measure'], 'profile'],
])('%s among %j is %s', (name, known, meant) => {
  expect(nearest(name, known)).toBe(meant);
});

it.each([
  ['foo', ['top', 'zoo']],
  ['tcsh', ['bash', 'zsh', 'fish']],
  ['q', ['x']],
  ['si', ['simulate']],
  ['sch', ['scheduleAhead', 'schema']],
])('%s is none of %j', (name, known) => {
  expect(nearest(name, known)).toBeUndefined();
});

it('suggests a name, or lists as many known ones as fit into a line', () => {
  expect(suggestion('gups', ['gpus', 'pages'])).toBe('did you mean "gpus"?');
  expect(suggestion('q', ['x', 'y'])).toBe('known: x, y');
  const many = Array.from({ length: 4000 }, (_, i) => `model-${i}`);
  expect(suggestion('ranker', many)).toMatch(/^known: model-0, .*, model-29, and 3970 more$/);
});
