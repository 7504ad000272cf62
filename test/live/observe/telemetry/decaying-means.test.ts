import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecayingMeans } from '../../../../src/live/observe/telemetry/stage-averages.js';

const S = 1e9;

describe('decaying means', () => {
  it('count a sample less the older it is', () => {
    const means = new DecayingMeans(2, 10 * S);
    means.add(0, 100, 1, 1 * S);
    means.add(0, 200, 1, 11 * S);
    const old = Math.exp(-1);
    expect(means.mean(0)).toBeCloseTo((100 * old + 200) / (old + 1), 9);
    expect(means.weight(0, 11 * S)).toBeCloseTo(1 + old, 9);
    expect(means.weight(0, 21 * S)).toBeCloseTo((1 + old) * old, 9);
    expect([means.latestNs(0), means.latestNs(1)]).toEqual([11 * S, 0]);
    expect(means.mean(1)).toBeNaN();
  });

  it('follow a change within a few time constants', () => {
    const means = new DecayingMeans(1, 10 * S);
    for (let second = 1; second <= 100; second++) means.add(0, 5, 1, second * S);
    for (let second = 101; second <= 140; second++) means.add(0, 9, 1, second * S);
    expect(means.mean(0)).toBeGreaterThan(8.9);
  });

  it('are the weighted means of all samples, whatever comes in whatever order', () => {
    const sample = fc.record({
      value: fc.double({ min: 0, max: 1e9, noNaN: true }),
      count: fc.integer({ min: 1, max: 16 }),
      afterNs: fc.integer({ min: 0, max: 5 * S }),
    });
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 50 }), (samples) => {
        const means = new DecayingMeans(1, 10 * S);
        let nowNs = 1;
        const times = samples.map(({ value, count, afterNs }) => {
          nowNs += afterNs;
          means.add(0, value, count, nowNs);
          return nowNs;
        });
        let sum = 0;
        let weight = 0;
        samples.forEach(({ value, count }, i) => {
          const share = count * Math.exp(-(nowNs - (times[i] as number)) / (10 * S));
          sum += share * value;
          weight += share;
        });
        expect(means.mean(0)).toBeCloseTo(sum / weight, 3);
        expect(means.weight(0, nowNs) / weight).toBeCloseTo(1, 9);
      }),
    );
  });

  it('take what is late as if it came with the latest', () => {
    const means = new DecayingMeans(1, 10 * S);
    means.add(0, 1, 1, 20 * S);
    means.add(0, 3, 1, 19 * S);
    expect([means.mean(0), means.latestNs(0)]).toEqual([2, 20 * S]);
  });
});
