import { describe, expect, it } from 'vitest';
import { stream } from '../../../src/base/random/streams.js';
import type { CellResult } from '../../../src/record/results.js';
import {
  estimateText,
  figureText,
  isSure,
  judge,
  marginText,
  parseTarget,
} from '../../../src/run/plan/judge.js';
import { cellResult } from '../sweep/fixtures.js';

/** A run whose requests miss their SLO, or not; null: not played. If it replays a log, it has 100 time slices. */
function ranWith(misses: readonly (boolean | null)[], isLog = false): CellResult {
  const { summary, ...rest } = cellResult(100);
  const [offered, ok] = [new Array<number>(100).fill(0), new Array<number>(100).fill(0)];
  for (const [i, miss] of misses.entries()) {
    const slice = Math.floor((i * 100) / misses.length);
    if (miss !== null) offered[slice]!++;
    if (miss === false) ok[slice]!++;
  }
  const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  const requests = {
    ...summary.requests,
    offered: total(offered),
    ok: total(ok),
    timeout: total(offered) - total(ok),
  };
  const section = { group: 'all', class: null, tenant: null, weight: 1, offered, ok };
  const slices = { oneSample: false, seconds: offered.map(() => 1), sections: [section] };
  const result = { ...rest, summary: { ...summary, requests, attainment: requests.ok / requests.offered } };
  return isLog ? { ...result, slices } : result;
}

/** The first of so many requests. */
function first(misses: number, requests: number): boolean[] {
  return Array.from({ length: requests }, (_, i) => i < misses);
}

describe('a target', () => {
  it('is met where the whole confidence interval of the mean is within the limit', () => {
    // 90, 91 and 92 of 100: mean 0.91, standard deviation 0.01, t of 2 degrees of freedom 4.303.
    const results = [90, 91, 92].map((goodput) => cellResult(goodput));
    const half = (4.303 * 0.01) / Math.sqrt(3);
    const verdict = (limit: number) => judge(parseTarget(`attainment>=${limit}`), results).meets;
    expect(verdict(0.91 - half - 1e-6)).toBe('yes');
    expect(verdict(0.91 - half + 1e-6)).toBe('unsure');
    expect(verdict(0.91)).toBe('unsure');
    expect(verdict(0.9101)).toBe('no');
    const below = judge(parseTarget(`attainment<${0.91 + half + 1e-6}`), results);
    expect(below.meets).toBe('yes');
    expect(below.margin).toBeCloseTo(1e-6, 9);
  });

  it('has no interval beyond all requests, or below none', () => {
    const of = (target: string, goodputs: number[]) =>
      judge(
        parseTarget(target),
        goodputs.map((goodput) => cellResult(goodput)),
      ).estimate;
    expect(of('attainment>=0.5', [100, 100, 97])?.high).toBe(1);
    expect(of('attainment>=0.5', [0, 0, 3])?.low).toBe(0);
    expect(of('goodputRps>=50', [100, 100, 97])?.high).toBeGreaterThan(100);
  });

  it('is not sure with few requests, however equal its seeds: Wilson’s interval for 95 %', () => {
    const target = parseTarget('attainment>=99.9%');
    const runs = (count: number) => Array.from({ length: count }, () => cellResult(100));
    const few = judge(target, runs(2));
    expect(few).toMatchObject({ meets: 'unsure', about: '2000 requests, and 3838 without a miss would do' });
    expect(few.estimate).toMatchObject({
      low: expect.closeTo(2000 / (2000 + 1.96 ** 2), 6),
      over: 'requests',
    });
    expect(judge(target, runs(4)).meets).toBe('yes');
    // Newcombe (1998), table I: 81 of 263 is 0.2553 to 0.3662.
    const { estimate } = judge(parseTarget('attainment>=20%'), [ranWith(first(182, 263))]);
    expect([estimate!.low, estimate!.high]).toEqual([expect.closeTo(0.2553, 4), expect.closeTo(0.3662, 4)]);
    expect(judge(parseTarget('timeout<0.1%'), [ranWith(first(0, 300))])).toMatchObject({
      meets: 'unsure',
      about: '300 requests, and 3838 without a miss would do',
    });
    // The requests themselves, and no share behind them.
    expect(judge(parseTarget('attainment>=1'), runs(1)).meets).toBe('yes');
  });

  it.each([
    { requests: 300, isLog: false },
    { requests: 1000, isLog: false },
    { requests: 300, isLog: true },
    { requests: 1000, isLog: true },
  ])('is met by at most one in twenty samples where it is missed by a hair: %o', ({ requests, isLog }) => {
    const random = stream(1, `misses-${requests}-${isLog}`);
    for (const truth of [0.98, 0.995, 0.999]) {
      const target = parseTarget(`attainment>${truth}`);
      const sample = () => Array.from({ length: requests }, () => random() >= truth);
      let met = 0;
      for (let i = 0; i < 500; i++) {
        const log = sample();
        const results = [1, 2, 3].map(() => {
          const played = isLog ? log.map((miss) => (random() < 0.9 ? miss : null)) : sample();
          return ranWith(played, isLog);
        });
        if (judge(target, results).meets === 'yes') met++;
      }
      expect(met).toBeLessThanOrEqual(25);
    }
  });

  it('is never met more surely with one miss more', () => {
    const target = parseTarget('attainment>=99%');
    const low = (misses: number) => {
      const at = Array.from({ length: 325 }, (_, i) => i % 65 === 0 && i / 65 < misses);
      return judge(target, [ranWith(at, true)]).estimate!.low;
    };
    for (let misses = 0; misses < 5; misses++) expect(low(misses + 1)).toBeLessThan(low(misses));
  });

  it('on the latency of a log has no interval: nothing tells how another stretch of it would do', () => {
    const log = [1, 2].map(() => ranWith(first(0, 300), true));
    expect(judge(parseTarget('p99<100ms'), log).estimate).toMatchObject({ low: 9, high: 9, over: null });
  });

  it('is met by the only run where there is one seed', () => {
    const figure = judge(parseTarget('goodputRps>50'), [cellResult(51)]);
    expect(figure).toMatchObject({ meets: 'yes', margin: 1 });
  });

  it('is not met where a latency is never reached', () => {
    expect(judge(parseTarget('p9999<1s'), [cellResult(50), cellResult(50)])).toEqual({
      values: [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
      estimate: null,
      meets: 'no',
      margin: null,
      about: null,
      requests: null,
    });
  });

  it('is met less surely the more were compared', () => {
    // 91, 92 and 93 of 100: standard error 0.01/√3, so 90 % is 3.464 of them away: one in 27 with 2 degrees of freedom.
    const [target, results] = [
      parseTarget('attainment>=0.9'),
      [91, 92, 93].map((goodput) => cellResult(goodput)),
    ];
    const figure = judge(target, [...results, ...results]);
    expect(isSure(target, judge(target, results), 1)).toBe(false);
    // Twice as many seeds: 5.477 of them away, one in 723 with 5 degrees of freedom, and 18 times that is 2.5 %.
    expect(figure.meets).toBe('yes');
    expect([1, 18, 19].map((compared) => isSure(target, figure, compared))).toEqual([true, true, false]);
    expect(isSure(target, judge(target, [cellResult(93)]), 1)).toBeNull();
    // Equal values have no spread but that of their 3000 requests: 1 point is 1.83 standard errors away, 3 are 5.48.
    const same = (goodput: number) => [1, 2, 3].map(() => cellResult(goodput));
    expect(isSure(target, judge(target, same(91)), 1)).toBe(false);
    expect(isSure(target, judge(target, same(93)), 1)).toBe(true);
    const rate = parseTarget('goodputRps>90');
    expect(isSure(rate, judge(rate, same(93)), 1)).toBeNull();
    const around = [89, 90, 91].map((goodput) => cellResult(goodput));
    expect(isSure(target, judge(target, around), 1)).toBe(false);
    expect(isSure(parseTarget('p9999<1s'), judge(parseTarget('p9999<1s'), results), 1)).toBe(false);
  });

  it('that is none is refused as what it was written as', () => {
    expect(() => parseTarget('slo=3')).toThrow(/^--target 'slo=3': /);
  });
});

describe('figures of a target', () => {
  it('have digits that tell them from the limit', () => {
    const text = (target: string, value: number) => figureText(parseTarget(target), value);
    expect(text('attainment>=0.999', 0.99934)).toBe('99.93 %');
    expect(text('attainment>=99.99%', 0.99994)).toBe('99.994 %');
    expect(text('timeout<0.1%', 0.000832)).toBe('0.0832 %');
    expect(text('p99<100ms', 99.83)).toBe('99.8 ms');
    expect(text('goodputRps>550', 551.26)).toBe('551.3/s');
  });

  it('say never of a latency that falls on requests which were not answered in time', () => {
    const target = parseTarget('p9999<1s');
    const reached = cellResult(50);
    const offeredLatencyMs = { ...reached.summary.offeredLatencyMs, p9999: 20 };
    const fast = { ...reached, summary: { ...reached.summary, offeredLatencyMs } };
    expect(estimateText(target, judge(target, [reached, reached]))).toBe('never');
    const mixed = judge(target, [fast, reached, fast]);
    expect(mixed.meets).toBe('no');
    expect(estimateText(target, mixed)).toBe('never with 1 of 3 seeds');
    expect(marginText(target, mixed)).toBe('');
  });

  it('come with the ends of an interval that is cut off at none or all', () => {
    const share = parseTarget('attainment>=0.5');
    expect(estimateText(share, judge(share, [cellResult(99), cellResult(97)]))).toBe(
      '98.00 % (85.29 to 100.00)',
    );
  });

  it('of models tell how many were judged, and why there is none', () => {
    const target = parseTarget('worstModelAttainment>=50%');
    const rare = (offered: number) => {
      const { summary } = cellResult(80);
      return { summary: { ...summary, rareModels: { models: 3, offered, attainment: 0.5 } } };
    };
    const figure = judge(target, [cellResult(80), rare(12), cellResult(80)]);
    expect(figure.about).toBe('1 of 4 models assessed');
    const unknown = judge(target, [cellResult(80), rare(600)]);
    expect(unknown.meets).toBe('no');
    expect(estimateText(target, unknown)).toBe('cannot tell: only 1 of 4 models had 20 requests');
  });

  it('come with half of their interval, and how far its worse end is from the limit', () => {
    const target = parseTarget('goodputRps>=50');
    const figure = judge(target, [cellResult(52), cellResult(54)]);
    expect(estimateText(target, figure)).toBe('53.00/s ± 12.71');
    expect(marginText(target, figure)).toBe('its 95 % interval starts 9.71/s below 50/s');
    const most = parseTarget('goodputRps<=50');
    expect(marginText(most, judge(most, [cellResult(52), cellResult(54)]))).toBe(
      'its 95 % interval ends 15.71/s above 50/s',
    );
    expect(marginText(target, judge(target, [cellResult(52)]))).toBe('2.00/s above 50/s');
    expect(marginText(target, judge(target, [cellResult(52), cellResult(52)]))).toBe('2.00/s above 50/s');
    const share = parseTarget('attainment>=0.5');
    expect(estimateText(share, judge(share, [cellResult(52), cellResult(54)]))).toBe('53.00 % ± 12.71');
    expect(marginText(share, judge(share, [cellResult(52)]))).toBe(
      'its 95 % interval starts 1.10 pp below 50 %',
    );
  });
});
