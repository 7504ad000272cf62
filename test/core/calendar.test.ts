import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Calendar } from '../../src/core/calendar.js';

describe('Calendar', () => {
  it('knows the earliest of its rows, and the smallest row that is due', () => {
    const change = fc.tuple(fc.nat(), fc.oneof(fc.nat(50), fc.constant(Number.POSITIVE_INFINITY)));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.array(change, { maxLength: 100 }), (rows, changes) => {
        const calendar = new Calendar(rows);
        const times = new Array<number>(rows).fill(Number.POSITIVE_INFINITY);
        for (const [raw, timeNs] of changes) {
          const row = raw % rows;
          calendar.set(row, timeNs);
          times[row] = timeNs;
          expect(calendar.nextNs).toBe(Math.min(...times));
          for (const nowNs of [-1, 10, 25, 50]) {
            expect(calendar.due(nowNs)).toBe(times.findIndex((time) => time <= nowNs));
          }
        }
        for (let row = 0; row < rows; row++) expect(calendar.get(row)).toBe(times[row]);
      }),
    );
  });
});
