import { expect, it } from 'vitest';
import { goalOf } from '../../../src/run/plan/key-space.js';

it.each([
  ['cluster.gpus', 'low', 'fewest'],
  ['cluster.gpus.t4', 'low', 'fewest'],
  ['cluster.pages', 'low', 'fewest'],
  ['cluster.memory', 'low', 'least'],
  ['slo', 'low', 'tightest'],
  ['workload.0.slo', 'low', 'tightest'],
  ['policy.scheduleAhead', 'low', 'shortest'],
  ['workload.rate', 'high', 'highest'],
  ['workload.1.load', 'high', 'highest'],
  ['workload.scale', 'high', 'highest'],
])('of %s the %s end is wanted: the %s', (key, prefer, superlative) => {
  expect(goalOf(key, null)).toEqual({ prefer, superlative });
});

it('what the operator prefers counts, and of other keys nothing is known', () => {
  expect(goalOf('cluster.gpus', 'high')).toEqual({ prefer: 'high', superlative: 'highest' });
  expect(goalOf('cluster.gpus.t4', 'low')).toEqual({ prefer: 'low', superlative: 'fewest' });
  expect(goalOf('policy.maxBatch', 'low')).toEqual({ prefer: 'low', superlative: 'lowest' });
  expect(goalOf('policy.maxBatch', null)).toBeNull();
});
