import { describe, expect, it } from 'vitest';
import { exponential } from '../../../../src/base/random/distributions.js';
import { stream } from '../../../../src/base/random/streams.js';
import { isStable, timeUntilStable } from '../../../../src/live/models/measure/until-stable.js';

const MS = 1e6;
const S = 1e9;

/** Durations on a clock of their own. */
function runs(next: () => number) {
  const clock = { nowNs: 5 * S };
  const run = async () => {
    const ns = next();
    clock.nowNs += ns;
    return ns;
  };
  return { run, nowNs: () => clock.nowNs, spentNs: () => clock.nowNs - 5 * S };
}

describe('measuring until the figures are stable', () => {
  it('takes few runs where they hardly differ', async () => {
    const random = stream(1, 'durations');
    const { run, nowNs, spentNs } = runs(() => MS * (1 + 0.01 * random()));
    const durations = await timeUntilStable(run, { least: 2, untilNs: 8 * S }, nowNs);
    expect(durations).toHaveLength(40);
    expect(spentNs()).toBeLessThan(0.1 * S);
  });

  it('takes as many as the spread needs, and then knows the quantiles', async () => {
    const random = stream(2, 'durations');
    const { run, nowNs, spentNs } = runs(() => MS * (1 + 0.2 * exponential(random)));
    const durations = await timeUntilStable(run, { least: 2, untilNs: 8 * S }, nowNs);
    expect(durations.length).toBeGreaterThan(40);
    expect(spentNs()).toBeLessThan(2.9 * S);
    const sorted = [...durations].sort((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] / MS;
    // Of the exponential distribution.
    expect(quantile(0.5)).toBeCloseTo(1 + 0.2 * Math.log(2), 1);
    expect(Math.abs(quantile(0.9) / (1 + 0.2 * Math.log(10)) - 1)).toBeLessThan(0.1);
  });

  it('is never sure of durations of two kinds, and ends with its time', async () => {
    let i = 0;
    const { run, nowNs, spentNs } = runs(() => (i++ % 2 === 0 ? MS : 3 * MS));
    await timeUntilStable(run, { least: 2, untilNs: 6 * S }, nowNs);
    expect(spentNs()).toBeGreaterThan(0.99 * S);
    expect(spentNs()).toBeLessThanOrEqual(S);
  });

  it('ends with the time, but never before the runs that are needed', async () => {
    const slow = runs(() => 0.9 * S);
    expect(await timeUntilStable(slow.run, { least: 2, untilNs: 5.1 * S }, slow.nowNs)).toHaveLength(2);
    const fitting = runs(() => 0.3 * S);
    // A fourth would end after 1.2 s.
    expect(await timeUntilStable(fitting.run, { least: 2, untilNs: 6 * S }, fitting.nowNs)).toHaveLength(3);
    expect(fitting.spentNs()).toBeLessThanOrEqual(S);
  });
});

describe('stable figures', () => {
  it('need runs beyond the 90th percentile', () => {
    expect(isStable(Array(20).fill(MS))).toBe(false);
    expect(isStable(Array(40).fill(MS))).toBe(true);
  });

  it('are wrong about as rarely as they say', () => {
    const random = stream(3, 'durations');
    let wrong = 0;
    let stable = 0;
    for (let trial = 0; trial < 400; trial++) {
      const durations = Array.from({ length: 200 }, () => 1 + 0.12 * random());
      if (!isStable(durations)) continue;
      stable++;
      const median = durations.sort((a, b) => a - b)[99];
      if (Math.abs(median - 1.06) > 0.05 * 1.06) wrong++;
    }
    expect(stable).toBeGreaterThan(200);
    expect(wrong / stable).toBeLessThanOrEqual(0.05);
  });
});
