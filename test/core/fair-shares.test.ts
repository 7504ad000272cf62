import { describe, expect, it } from 'vitest';
import { BEYOND_SHARE, FairShares, fairLevel, WITHIN_SHARE } from '../../src/core/fair-shares.js';
import { GpuLoad } from '../../src/core/gpu-load.js';

const MS = 1e6;
const S = 1e9;
const even = (count: number) => Array.from({ length: count }, () => ({ share: 1 }));

describe('the fair level', () => {
  it('serves exactly what there is', () => {
    const tenants = [{ share: 1 }, { share: 2 }, { share: 0.5 }, { share: 4 }];
    const demand = Float64Array.of(10, 100, 7, 60);
    for (let total = 1; total < 177; total++) {
      const level = fairLevel(tenants, demand, total);
      const sent = tenants.reduce((sum, { share }, t) => sum + Math.min(demand[t], share * level), 0);
      expect(sent).toBeCloseTo(total, 9);
    }
  });
});

describe('under overload', () => {
  it('is forgotten in a pause: then all requests are let through', () => {
    const load = new GpuLoad(1);
    const fair = new FairShares(even(2), load);
    let refused = 0;
    for (let i = 0; i < 5000; i++) {
      const nowNs = i * MS;
      load.ran(0, true, MS);
      for (const tenant of [0, 1])
        if (fair.standing(tenant, 10 * MS, nowNs) === BEYOND_SHARE) refused++;
        else fair.answered(tenant, 10 * MS, tenant === 1 && i % 499 === 0);
    }
    expect(refused).toBeGreaterThan(0);
    const after = Array.from({ length: 20 }, (_, i) => fair.standing(0, 10 * MS, 13 * S + 137 * MS * i));
    expect(after).toEqual(after.map(() => WITHIN_SHARE));
  });

  it.each([
    [
      [1, 1],
      [100, 100],
    ],
    [
      [1, 99],
      [200, 0],
    ],
    [
      [3, 2, 1],
      [20, 90, 90],
    ],
  ])('is over soon after a time in which nothing is served: shares %j, requests/s %j', (shares, rates) => {
    const load = new GpuLoad(1);
    const fair = new FairShares(
      shares.map((share) => ({ share })),
      load,
    );
    const refusedAtS: number[] = [];
    for (let ms = 0; ms < 40_000; ms++) {
      load.ran(0, true, MS);
      rates.forEach((rate, tenant) => {
        if (Math.floor((ms * rate) / 1000) === Math.floor(((ms + 1) * rate) / 1000)) return;
        if (fair.standing(tenant, 5 * MS, ms * MS) === BEYOND_SHARE) refusedAtS.push(ms / 1000);
        else fair.answered(tenant, 5 * MS, ms >= 10_000);
      });
    }
    expect(refusedAtS.length).toBeGreaterThan(0);
    expect(Math.max(...refusedAtS)).toBeLessThan(20);
  });
});

describe('a loss by chance', () => {
  /** Two tenants send few requests; the first loses one. Then the second sends many, and all that it may is served. */
  function sentOfMany(seconds: number): number {
    const load = new GpuLoad(1);
    const fair = new FairShares(even(2), load);
    for (let nowNs = 0; nowNs < 10 * S; nowNs += S / 4) {
      load.ran(0, true, S / 4);
      for (const tenant of [0, 1, 1])
        if (fair.standing(tenant, MS, nowNs) !== BEYOND_SHARE)
          fair.answered(tenant, MS, nowNs < 9 * S || tenant === 1);
    }
    let sent = 0;
    for (let nowNs = 10 * S; nowNs < (10 + seconds) * S; nowNs += MS) {
      load.ran(0, true, MS);
      if (fair.standing(1, MS, nowNs) === BEYOND_SHARE) continue;
      fair.answered(1, MS, true);
      if (nowNs >= (9 + seconds) * S) sent++;
    }
    return sent;
  }

  it('does not hold back a rise of demand for long', () => {
    expect(sentOfMany(5)).toBe(1000);
  });
});

describe('a policy that loses a part of whatever it gets', () => {
  /** After a slow first second it could serve all; so much of the time its GPU is busy. What is refused in the last 5 s of 40. */
  function refusedInTheEnd(lostOneOf: number, busy: number): number {
    const load = new GpuLoad(1);
    const fair = new FairShares(even(2), load);
    let refused = 0;
    let count = 0;
    for (let ms = 0; ms < 40_000; ms++) {
      load.ran(0, true, busy * MS);
      const senders = ms % 10 === 0 ? [0, 1, 1, 1, 1, 1] : [1];
      for (const tenant of senders) {
        if (fair.standing(tenant, MS, ms * MS) === BEYOND_SHARE) {
          if (ms >= 35_000) refused++;
        } else fair.answered(tenant, MS, ++count % (ms < 1000 ? 2 : lostOneOf) !== 0);
      }
    }
    return refused;
  }

  it('lets all through soon while GPUs are idle', () => {
    expect(refusedInTheEnd(14, 0.6)).toBe(0);
    expect(refusedInTheEnd(14, 0.9)).toBe(0);
  });

  it('holds tenants to their shares while GPUs are full, or far more is lost', () => {
    expect(refusedInTheEnd(14, 0.97)).toBeGreaterThan(1000);
    expect(refusedInTheEnd(7, 0.6)).toBeGreaterThan(1000);
  });

  it('refuses nothing for shares while no GPU is in use, whatever is lost', () => {
    expect(refusedInTheEnd(2, 0)).toBe(0);
    expect(refusedInTheEnd(2, 0.05)).toBe(0);
    expect(refusedInTheEnd(2, 0.2)).toBeGreaterThan(1000);
  });
});
