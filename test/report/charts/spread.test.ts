import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spread } from '../../../src/report/charts/spread.js';

describe('spread', () => {
  it('leaves labels alone that have room', () => {
    expect(spread([50, 10, 90], 18, 0, 100)).toEqual([50, 10, 90]);
  });

  it('pushes crowded labels apart and keeps them inside', () => {
    expect(spread([99, 100], 18, 0, 100)).toEqual([82, 100]);
    expect(spread([0, 0, 1], 18, 0, 100)).toEqual([0, 18, 36]);
  });

  it('keeps order, distance and limits', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 320 }), { minLength: 1, maxLength: 30 }), (wanted) => {
        const placed = spread(wanted, 18, 0, 300);
        const gap = Math.min(18, wanted.length > 1 ? 300 / (wanted.length - 1) : 18);
        const order = wanted
          .map((_, i) => i)
          .sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || a - b);
        order.forEach((i, k) => {
          expect(placed[i]).toBeGreaterThanOrEqual(-1e-6);
          expect(placed[i]).toBeLessThanOrEqual(300 + 1e-6);
          if (k > 0)
            expect((placed[i] as number) - (placed[order[k - 1] as number] as number)).toBeGreaterThan(
              gap - 1e-6,
            );
        });
      }),
    );
  });
});
