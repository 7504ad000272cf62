import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';
import { Books } from './books.js';

describe('Durations', () => {
  it('follow the mean of what is measured, a tenth of the way each time', () => {
    const { durations } = new Books(models(1));
    durations.measured(0, 0, 1, 6 * MS, 1);
    expect(durations.execNs[1]).toBeCloseTo(5.1 * MS, 6);
    expect(durations.logExec[1]).toBe(Math.log(durations.execNs[1]));
    for (let i = 0; i < 100; i++) durations.measured(0, 0, 1, 6 * MS, 1);
    expect(durations.execNs[1] / MS).toBeCloseTo(6, 3);
  });

  it('are those of the profile again once measurements are forgotten', () => {
    const { durations } = new Books(models(1));
    const four = durations.execNs[2];
    for (let i = 0; i < 50; i++) durations.measured(0, 0, 2, 100 * MS, 1);
    expect(durations.execNs[2]).toBeGreaterThan(5 * four);
    durations.forget();
    expect(durations.execNs[2]).toBe(four);
  });

  it('are kept at nominal clock, and given at the present one', () => {
    const { cluster, durations } = new Books(models(1));
    durations.measured(0, 0, 0, 6 * MS, 0.5);
    expect(durations.execNs[0]).toBe(3 * MS);
    cluster.clock[0] = 0.75;
    expect(durations.on(0, 0)).toBe(4 * MS);
  });

  it('tell the smallest size that holds so many requests, among those that may be used', () => {
    const all = new Books(models(1)).durations;
    expect([1, 2, 3, 4, 9].map((count) => all.sizeFor(0, count))).toEqual([0, 1, 2, 2, 2]);
    const few = new Books(models(1), { maxBatch: 3 }).durations;
    expect(few.usable[0]).toBe(2);
    expect([1, 2, 3].map((count) => few.sizeFor(0, count))).toEqual([0, 1, 1]);
  });
});
