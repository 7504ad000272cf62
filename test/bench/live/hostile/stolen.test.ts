import { expect, it } from 'vitest';
import { stolenShare, ticksOf } from './stolen.js';

it('is what the host took of all CPU time between two readings', () => {
  const from = ticksOf('cpu  100 0 50 800 10 5 5 30 40 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n');
  const to = ticksOf('cpu  110 10 60 820 20 10 10 60 50 0\n');
  expect(from).toEqual({ all: 1000, stolen: 30, idle: 810 });
  // Guests are counted with users: the ticks of a guest are not twice in the sum.
  expect(stolenShare(from, to)).toBeCloseTo(30 / 100);
});

it('is nothing where no time passed, as on systems without /proc', () => {
  const nothing = { all: 0, stolen: 0, idle: 0 };
  expect(stolenShare(nothing, nothing)).toBe(0);
});
