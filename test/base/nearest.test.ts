import { expect, it } from 'vitest';
import { nearest } from '../../src/base/nearest.js';

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
