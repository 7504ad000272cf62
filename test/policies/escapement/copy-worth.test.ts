import { describe, expect, it } from 'vitest';
import { CopyWorth } from '../../../src/policies/escapement/copy-worth.js';
import { DemandForecast } from '../../../src/policies/escapement/demand-forecast.js';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';
import { Books } from './books.js';

const S = 1000 * MS;

function worthOf(gpus: number) {
  const books = new Books(models(2), { gpus });
  const demand = new DemandForecast(2);
  const factor = new Float64Array(2).fill(1);
  const worth = new CopyWorth(books.cluster, books.durations, books.waiting, demand, factor);
  /** So many requests a second come for model 0, for 10 s. */
  const ask = (rateRps: number) => {
    for (let i = 0; i < rateRps * 10; i++) demand.arrived(0, Math.round((i * S) / rateRps));
    worth.renew(10 * S);
  };
  return { books, factor, worth, ask };
}

describe('CopyWorth', () => {
  it('of a first copy is what waits and can be saved, and what a twentieth of a second will bring', () => {
    const { books, worth, ask } = worthOf(1);
    expect(worth.toLoad(0, 0)).toBe(0);
    // LOAD and INFER take 11 ms.
    books.wait(0, 5, 10, 20, 30);
    expect(worth.toLoad(0, 0)).toBe(2);
    ask(20);
    expect(worth.toLoad(0, 0)).toBeCloseTo(2 + 1, 1);
    expect(worth.toLoad(1, 0)).toBe(0);
  });

  it('is a tenth for each copy more than the traffic needs', () => {
    const { books, worth, ask } = worthOf(4);
    ask(20);
    const first = worth.toLoad(0, 10 * S);
    books.warm(0, [0]);
    expect(worth.toLoad(0, 10 * S)).toBeCloseTo(first / 10, 6);
    expect(worth.toKeep(0)).toBeCloseTo(first, 6);
    books.warm(1, [0]);
    expect(worth.toLoad(0, 10 * S)).toBeCloseTo(first / 100, 6);
    expect(worth.toKeep(0)).toBeCloseTo(first / 10, 6);
  });

  it('is all that waits for as many copies as it takes to answer that within the SLO', () => {
    const { books, worth } = worthOf(4);
    // 60 requests due in 100 ms take a GPU 120 ms in batches of four.
    books.warm(0, [0]).wait(0, ...Array<number>(60).fill(100));
    expect(worth.toLoad(0, 0)).toBe(60);
    books.warm(1, [0]);
    expect(worth.toKeep(0)).toBe(60);
    expect(worth.toLoad(0, 0)).toBeCloseTo(6, 6);
  });

  it('never is more for a copy that there is not than for one that there is', () => {
    const { books, worth, ask } = worthOf(4);
    books.wait(0, 5, 50, 50);
    ask(700);
    for (let gpu = 0; gpu < 4; gpu++) {
      const load = worth.toLoad(0, 0);
      books.warm(gpu, [0]);
      expect(load).toBeLessThanOrEqual(worth.toKeep(0));
    }
  });

  it('is more for a model that was treated badly', () => {
    const { books, factor, worth } = worthOf(1);
    books.wait(0, 50);
    factor[0] = 3;
    expect(worth.toLoad(0, 0)).toBe(3);
  });
});
