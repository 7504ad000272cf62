import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageCache } from '../../src/core/page-cache.js';

describe('PageCache', () => {
  it('has as many pages free as its capacity less what was taken and not given back', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(8), { maxLength: 50 }), fc.nat(), (sizes, pick) => {
        const cache = new PageCache(12);
        const taken: number[] = [];
        for (const [i, pages] of sizes.entries()) {
          if (pages <= cache.free) {
            cache.take(pages);
            taken.push(pages);
          } else cache.release(taken.splice((pick + i) % taken.length, 1)[0]);
          expect(cache.free).toBe(12 - taken.reduce((sum, count) => sum + count, 0));
        }
      }),
    );
  });

  it('refuses to hand out pages that are not free', () => {
    const cache = new PageCache(5);
    cache.take(3);
    expect(() => cache.take(3)).toThrow('pages are free when they are taken');
    expect(cache.free).toBe(2);
  });

  it('refuses to take back more than it handed out', () => {
    const cache = new PageCache(5);
    cache.take(2);
    expect(() => cache.release(3)).toThrow('no more pages are given back than were taken');
  });
});
