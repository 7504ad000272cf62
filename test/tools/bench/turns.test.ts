import { expect, it } from 'vitest';
import { Turns } from '../../../src/tools/bench/turns.js';

it('deals turns in proportion, far apart, and none to a weight of 0', () => {
  const turns = new Turns([3, 0, 1]);
  expect(Array.from({ length: 8 }, () => turns.next())).toEqual([0, 0, 2, 0, 0, 0, 2, 0]);
});

it('never lets anybody get a turn ahead of its share', () => {
  const weights = [0.5, 0.3, 0.2];
  const turns = new Turns(weights);
  const counts = [0, 0, 0];
  for (let turn = 1; turn <= 1000; turn++) {
    counts[turns.next()]++;
    for (const [i, count] of counts.entries()) expect(Math.abs(count - turn * weights[i])).toBeLessThan(1);
  }
});
