import { expect, it } from 'vitest';
import { MixedSource, Turns } from '../../../src/tools/bench/mixed-source.js';

it('keeps each client at one request and deals models by the mix, whichever is answered first', () => {
  const source = new MixedSource({ clients: 4, mix: [0.75, 0.25], sloNs: 1e9, endNs: 1e9 });
  const models: number[] = [];
  const send = () => {
    models.push(source.model);
    const { user } = source;
    source.advance();
    return user;
  };
  const users = [send(), send(), send(), send()];
  expect(users.sort()).toEqual([0, 1, 2, 3]);
  expect(source.timeNs).toBe(Number.POSITIVE_INFINITY);
  // Client 2 is always quickest: it gets no more of one model for that.
  for (let nowNs = 1e6; nowNs <= 12e6; nowNs += 1e6) {
    source.answered(2, nowNs);
    expect(source.timeNs).toBe(nowNs);
    expect(send()).toBe(2);
  }
  expect(models.filter((model) => model === 1)).toHaveLength(4);
  expect(source.sloNs).toBe(1e9);
  source.answered(2, 1e9);
  expect(source.timeNs).toBe(Number.POSITIVE_INFINITY);
});

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
