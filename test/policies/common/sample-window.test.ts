import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SampleWindow } from '../../../src/policies/common/self-tuning.js';

describe('SampleWindow', () => {
  it('is a sorted list of the last ones, whatever was asked in between', () => {
    fc.assert(
      fc.property(
        // −0 and 0 are one value, in whatever order.
        fc.array(
          fc.double({ noNaN: true }).map((value) => value + 0),
          { maxLength: 40 },
        ),
        fc.integer({ min: 1, max: 12 }),
        (values, capacity) => {
          const window = new SampleWindow(capacity);
          for (const [i, value] of values.entries()) {
            window.add(value);
            const last = values.slice(Math.max(0, i + 1 - capacity), i + 1).sort((a, b) => a - b);
            expect(window.size).toBe(last.length);
            if (i % 3 > 0) expect(last.map((_, rank) => window.rank(rank))).toEqual(last);
          }
        },
      ),
    );
  });
});
