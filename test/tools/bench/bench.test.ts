import { expect, it } from 'vitest';
import { passesOf } from '../../../src/tools/bench/bench.js';

const text = (values: number, trials: number) =>
  passesOf(values, trials).map((pass) => `${pass.index}:${pass.trials}`);

it.each([
  [3, 4, ['0:2', '1:2', '2:2', '2:2', '1:2', '0:2']],
  [2, 5, ['0:3', '1:3', '1:2', '0:2']],
  [3, 1, ['0:1', '1:1', '2:1']],
  [1, 5, ['0:5']],
])('%i values of %i trials each take their turns', (values, trials, passes) => {
  expect(text(values, trials)).toEqual(passes);
});

it('favours no value on a machine that becomes slower all the time', () => {
  const sums = [0, 0, 0];
  let now = 0;
  for (const { index, trials } of passesOf(3, 6)) for (let i = 0; i < trials; i++) sums[index] += now++;
  expect(new Set(sums).size).toBe(1);
});
