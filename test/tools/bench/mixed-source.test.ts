import { expect, it } from 'vitest';
import { MixedSource } from '../../../src/tools/bench/stages.js';

it('keeps each client at one request and deals models in turn, whichever is answered first', () => {
  const source = new MixedSource(4, 4, 1e9);
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
  source.end();
  expect(source.timeNs).toBe(Number.POSITIVE_INFINITY);
});
