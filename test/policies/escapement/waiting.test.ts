import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';
import { Books } from './books.js';

describe('Waiting', () => {
  it('knows how long one GPU would need for all, in the largest batches', () => {
    const books = new Books(models(2)).warm(0, [0]);
    const backlogMs = () => books.waiting.backlogNs / MS;
    books.wait(0, 10);
    expect(backlogMs()).toBe(3);
    books.wait(0, 10, 10);
    expect(backlogMs()).toBe(8);
    books.wait(0, 10, 10);
    expect(backlogMs()).toBe(8 + 3);
    // A model that is nowhere counts: it will be somewhere.
    const slot = books.wait(1, 10, 10);
    expect(backlogMs()).toBe(8 + 3 + 5);
    books.waiting.remove(slot, 1);
    expect(backlogMs()).toBe(8 + 3 + 3);
    books.waiting.take(0, 0, 4, new Int32Array(4));
    expect(backlogMs()).toBe(3 + 3);
  });

  it('leaves nothing behind when all is gone, however long it ran', () => {
    const books = new Books(models(1, { execNs: [3_333_333, 5_000_001, 8_000_007] }));
    for (let round = 0; round < 1000; round++) {
      const slot = books.wait(0, round);
      books.durations.measured(0, 0, 0, 3 * MS + round * 777, 1);
      books.waiting.remove(slot, 0);
      expect(books.waiting.backlogNs).toBe(0);
    }
  });

  it('knows which GPUs could serve something', () => {
    const books = new Books(models(2), { gpus: 2 }).warm(0, [0]);
    const at = () => [books.waiting.isAny(0), books.waiting.isAny(1)];
    expect(at()).toEqual([false, false]);
    const first = books.wait(0, 10, 10);
    expect(at()).toEqual([true, false]);
    books.warm(1, [0]);
    expect(at()).toEqual([true, true]);
    books.waiting.cooled(0, 0);
    books.cluster.warm.delete(0, 0);
    expect(at()).toEqual([false, true]);
    books.waiting.remove(first, 0);
    expect(at()).toEqual([false, true]);
    books.waiting.take(0, 0, 1, new Int32Array(1));
    expect(at()).toEqual([false, false]);
  });

  it('knows the SLO of each model, and which have several', () => {
    const books = new Books(models(3));
    books.waitWith(50, 0, 60, 70);
    books.waitWith(50, 1, 60);
    books.waitWith(20, 1, 60);
    books.waitWith(20, 1, 60);
    expect([...books.waiting.sloNs]).toEqual([50 * MS, Number.NaN, 0]);
  });
});
