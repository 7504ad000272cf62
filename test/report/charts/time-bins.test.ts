import { describe, expect, it } from 'vitest';
import { binsPerPoint, ratePoints } from '../../../src/report/charts/time-bins.js';

const RATES = [10, 20, 30, 40, 60];
const SERIES = {
  beginSeconds: 4,
  binSeconds: 2,
  offeredRps: RATES,
  goodputRps: RATES,
  failedRps: RATES,
  coldStartRps: RATES,
};

describe('points over time', () => {
  it('are the means of their bins, the last of those that are left', () => {
    const points = ratePoints(SERIES, 'goodputRps', 2, { name: 's', seconds: 1 });
    expect(points.map(({ rps }) => rps)).toEqual([15, 35, 60]);
    expect(points.slice(0, 2).map(({ at }) => at)).toEqual([6, 10]);
  });

  it('take as many bins as it needs to be few enough', () => {
    expect([5, 4, 2, 1].map((most) => binsPerPoint(SERIES, most))).toEqual([1, 2, 3, 5]);
  });
});
