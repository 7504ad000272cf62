import { describe, expect, it } from 'vitest';
import { efficiencies } from '../../../../src/tools/bench/scaling/efficiency.js';
import { point, trial } from './fixtures.js';

describe('efficiency', () => {
  it('compares the same work on more GPUs with the base: T1 / (N TN)', () => {
    const [base, four] = efficiencies([point(1, [trial(8, 1)]), point(4, [trial(2.5, 4)])]);
    expect(base).toMatchObject({ ideal: 1, speedUp: { mean: 1, sd: 0 }, efficiency: { mean: 1, sd: 0 } });
    expect(four.ideal).toBe(4);
    expect(four.speedUp.mean).toBeCloseTo(3.2, 12);
    expect(four.efficiency.mean).toBeCloseTo(0.8, 12);
    expect(four.throughputRps).toBeCloseTo(400, 9);
  });

  it('compares work that grows with the GPUs with the base: T1 / TN', () => {
    const grown = trial(2.5, 4, { requests: 4000, infers: 400 });
    const [, four] = efficiencies([point(1, [trial(2, 1)]), point(4, [grown])]);
    expect(four.efficiency.mean).toBeCloseTo(0.8, 12);
    expect(four.speedUp.mean).toBeCloseTo(3.2, 12);
  });

  it('takes any fewest GPUs as the base', () => {
    const [, eight] = efficiencies([point(2, [trial(4, 2)]), point(8, [trial(1, 8)])]);
    expect(eight).toMatchObject({ ideal: 4, speedUp: { mean: 4 }, efficiency: { mean: 1 } });
  });

  it('has the spread of both numbers of GPUs', () => {
    const [base, two] = efficiencies([
      point(1, [trial(1.9, 1), trial(2, 1), trial(2.1, 1)]),
      point(2, [trial(0.8, 2), trial(1, 2), trial(1.2, 2)]),
    ]);
    expect(base.tookS).toMatchObject({ n: 3, mean: 2 });
    expect(base.tookS.sd).toBeCloseTo(0.1, 12);
    expect(two.efficiency.mean).toBeCloseTo(1, 12);
    expect(two.efficiency.sd).toBeCloseTo(Math.hypot(0.05, 0.2), 12);
  });

  it('is the product of how busy GPUs are, how full batches, how fast the device', () => {
    const base = trial(1.1, 1);
    // Smaller batches cost half as much again by the profile, and INFERs take a fifth longer than that.
    const two = trial(1.2, 2, { infers: 200, profileNs: 1.5e9, busyNs: [1e9, 0.8e9] });
    const [, compared] = efficiencies([point(1, [base, base]), point(2, [two, two])]);
    const { busy, batches, device } = compared.factors;
    expect(batches).toBeCloseTo(1 / 1.5, 12);
    expect(device).toBeCloseTo(1 / 1.2, 12);
    expect(busy).toBeCloseTo(1.8 / 2.4 / (1 / 1.1), 12);
    expect(busy * batches * device).toBeCloseTo(compared.efficiency.mean, 12);
    expect(compared.activity).toMatchObject({ meanBatch: 5 });
    expect(compared.activity.execMin).toBeCloseTo(0.8 / 1.2, 12);
    expect(compared.activity.execMean).toBeCloseTo(0.75, 12);
  });

  it('says what controller and clients did, weighted by the time of the trials', () => {
    const short = trial(1, 1, { loopBusy: 1, failed: 10, loads: 4, stepNs: 0.5e9, waitNs: 0.3e9 });
    const long = trial(3, 1, { loopBusy: 0.2, resultDelayP99Ns: 5e6, stepNs: 0.5e9, waitNs: 0.1e9 });
    const [{ activity }] = efficiencies([point(1, [short, long])]);
    expect(activity.loopBusy).toBeCloseTo(0.4, 12);
    expect(activity.stepShare).toBeCloseTo(0.25, 12);
    expect(activity.waitShare).toBeCloseTo(0.1, 12);
    expect(activity).toMatchObject({
      loads: 2,
      failedShare: 0.005,
      resultDelayMs: 5,
      latenessMs: 0.3,
    });
  });

  it('does not know how long the thread waited where the system does not tell', () => {
    const [{ activity }] = efficiencies([point(1, [trial(1, 1, { waitNs: null })])]);
    expect(activity.waitShare).toBeNull();
  });
});
