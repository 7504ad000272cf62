import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { execSlackNs, loadSlackNs } from '../../../src/policies/clockwork/deadlines.js';

const MS = 1_000_000;

describe('execSlackNs: from arrival to the internal deadline', () => {
  it.each([
    // SLO, schedule_ahead → slack, in ms
    [100, 10, 95],
    [25, 10, 20],
    [20, 10, 15],
    // Beyond the SLO itself: served late on purpose.
    [10, 10, 15],
    [10, 2, 7],
    [15, 5, 10],
    // Below 5 ms nothing is taken off the SLO, and schedule_ahead + 5 ms is more anyway.
    [4, 2, 7],
    [4, 0, 5],
    [5, 0, 5],
    [500, 1, 495],
  ])('SLO %d ms with schedule_ahead %d ms gives %d ms', (slo, ahead, slack) => {
    expect(execSlackNs(slo * MS, ahead * MS)).toBe(slack * MS);
  });
});

describe('loadSlackNs: from arrival to the time by which a LOAD should start', () => {
  it.each([
    // SLO, schedule_ahead, load, b1 → slack, in ms
    [100, 10, 8, 3, 25],
    [40, 5, 8, 3, 19],
    // Less than schedule_ahead + 5 ms is raised to that.
    [30, 10, 8, 3, 15],
    // Nothing is left of the SLO: the SLO itself, up to 25 ms.
    [10, 10, 8, 3, 15],
    [20, 10, 8, 3, 20],
    [26, 10, 8, 3, 15],
    [25, 10, 8, 3, 25],
    [25, 10, 30, 3, 25],
    [4, 2, 8, 3, 7],
  ])('SLO %d, schedule_ahead %d, LOAD %d and INFER %d ms give %d ms', (slo, ahead, load, exec, slack) => {
    expect(loadSlackNs(slo * MS, ahead * MS, load * MS, exec * MS)).toBe(slack * MS);
  });

  it('is never under schedule_ahead + 5 ms, nor over the greater of that and 25 ms', () => {
    const ms = fc.integer({ min: 0, max: 600 * MS });
    fc.assert(
      fc.property(ms, ms, ms, ms, (slo, ahead, load, exec) => {
        const slack = loadSlackNs(slo, ahead, load, exec);
        expect(slack).toBeGreaterThanOrEqual(ahead + 5 * MS);
        expect(slack).toBeLessThanOrEqual(Math.max(ahead + 5 * MS, 25 * MS));
      }),
    );
  });
});
