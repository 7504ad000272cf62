import { expect, it } from 'vitest';
import { Lifetimes } from '../../src/scalers/autoscaler.js';

const S = 1e9;
const on = (gpus: number, starting = 0) => ({ on: gpus, starting, draining: 0 });

it('keeps GPUs that were ordered less than their shortest lifetime ago, and only those', () => {
  const lifetimes = new Lifetimes([60 * S]);
  expect(lifetimes.keep([5], [on(2)], 0)).toEqual([5]);
  expect(lifetimes.keep([6], [on(2, 3)], 30 * S)).toEqual([6]);
  // Two are older than the run; the others are young.
  expect(lifetimes.keep([0], [on(6)], 59 * S)).toEqual([4]);
  expect(lifetimes.keep([0], [on(4)], 60 * S)).toEqual([1]);
  expect(lifetimes.keep([0], [on(1)], 90 * S)).toEqual([0]);
});

it('counts each kind by itself, and GPUs that were lost not at all', () => {
  const lifetimes = new Lifetimes([60 * S, 0]);
  expect(lifetimes.keep([3, 3], [on(1), on(1)], 0)).toEqual([3, 3]);
  expect(lifetimes.keep([0, 0], [on(1), on(3)], S)).toEqual([1, 0]);
});
