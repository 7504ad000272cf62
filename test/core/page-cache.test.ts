import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageCache } from '../../src/core/page-cache.js';

describe('PageCache', () => {
  it('has as many pages free as its capacity less what its models hold', () => {
    const operation = fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 8 }));
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 50 }), (ops) => {
        const cache = new PageCache(12, 5);
        const held = new Map<number, number>();
        for (const [model, pages] of ops) {
          if (held.has(model)) {
            cache.release(model);
            held.delete(model);
          } else if (pages <= cache.free) {
            cache.take(model, pages);
            held.set(model, pages);
          }
          const taken = [...held.values()].reduce((sum, count) => sum + count, 0);
          expect(cache.free).toBe(12 - taken);
          for (let m = 0; m < 5; m++) expect(cache.pagesOf(m)).toBe(held.get(m) ?? 0);
        }
      }),
    );
  });

  it('refuses to hand out pages that are not free, and to hold a model twice', () => {
    const cache = new PageCache(5, 2);
    expect(() => cache.take(0, 6)).toThrow('pages are free when they are taken');
    cache.take(0, 3);
    expect(() => cache.take(0, 1)).toThrow('a model takes pages once');
  });

  it('gives back nothing for a model that it does not hold', () => {
    const cache = new PageCache(5, 2);
    cache.release(1);
    expect(cache.free).toBe(5);
  });
});
