import { describe, expect, it } from 'vitest';
import { judge, parseTarget } from '../../src/planner/judge.js';
import { estimateText, figureText, marginText } from '../../src/planner/words.js';
import { cellResult } from '../sweep/fixtures.js';

describe('a target', () => {
  it('is met where the whole confidence interval of the mean is within the limit', () => {
    // 90, 91 and 92 of 100: mean 0.91, standard deviation 0.01, t of 2 degrees of freedom 4.303.
    const results = [90, 91, 92].map((goodput) => cellResult(goodput));
    const half = (4.303 * 0.01) / Math.sqrt(3);
    const verdict = (limit: number) => judge(parseTarget(`sloAttainment>=${limit}`), results).meets;
    expect(verdict(0.91 - half - 1e-6)).toBe('yes');
    expect(verdict(0.91 - half + 1e-6)).toBe('unsure');
    expect(verdict(0.91)).toBe('unsure');
    expect(verdict(0.9101)).toBe('no');
    const below = judge(parseTarget(`sloAttainment<${0.91 + half + 1e-6}`), results);
    expect(below.meets).toBe('yes');
    expect(below.margin).toBeCloseTo(1e-6, 9);
  });

  it('is met by the only run where there is one seed', () => {
    const figure = judge(parseTarget('goodputRps>50'), [cellResult(51)]);
    expect(figure).toMatchObject({ meets: 'yes', margin: 1 });
  });

  it('is not met where nothing was measured', () => {
    expect(judge(parseTarget('p9999<1s'), [cellResult(50), cellResult(50)])).toEqual({
      values: [null, null],
      estimate: null,
      meets: 'no',
      margin: null,
    });
  });

  it('that is none is refused as what it was written as', () => {
    expect(() => parseTarget('slo=3')).toThrow(/^--target 'slo=3': /);
  });
});

describe('figures of a target', () => {
  it('have digits that tell them from the limit', () => {
    const text = (target: string, value: number) => figureText(parseTarget(target), value);
    expect(text('sloAttainment>=0.999', 0.99934)).toBe('99.93 %');
    expect(text('sloAttainment>=99.99%', 0.99994)).toBe('99.994 %');
    expect(text('timeout<0.1%', 0.000832)).toBe('0.0832 %');
    expect(text('p99<100ms', 99.83)).toBe('99.8 ms');
    expect(text('goodputRps>550', 551.26)).toBe('551.3/s');
  });

  it('come with half of their interval, and how far its worse end is from the limit', () => {
    const target = parseTarget('goodputRps>=50');
    const figure = judge(target, [cellResult(52), cellResult(54)]);
    expect(estimateText(target, figure.estimate)).toBe('53.00/s ± 12.71');
    expect(marginText(target, figure)).toBe('at worst 9.71/s below 50/s');
    expect(marginText(target, judge(target, [cellResult(52)]))).toBe('2.00/s above 50/s');
    const share = parseTarget('sloAttainment>=0.5');
    expect(marginText(share, judge(share, [cellResult(52)]))).toBe('2.00 pp above 50 %');
  });
});
