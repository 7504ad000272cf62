import { describe, expect, it } from 'vitest';
import { normal } from '../../src/base/random/distributions.js';
import { type Random, stream } from '../../src/base/random/streams.js';
import type { RunSlices } from '../../src/record/results.js';
import {
  attainmentText,
  blockBootstrapHalf,
  blockLength,
  differenceOf,
  estimate,
  estimateOf,
  figureOfRun,
  influencesOf,
  marginBetween,
  meanOf,
  percentWithInterval,
  shareWithInterval,
  slicedFigure,
  studentT95,
  studentTail,
  withInterval,
} from '../../src/report/statistics.js';

describe('estimate', () => {
  it('gives the 95 % interval of Student for a few repetitions', () => {
    const { mean, sd, low, high, over } = estimate([10, 12, 14]);
    expect([mean, sd, over]).toEqual([12, 2, 'seeds']);
    // t(2) = 4.303, standard error 2 / √3.
    expect(high - mean).toBeCloseTo(4.969, 3);
    expect(mean - low).toBeCloseTo(4.969, 3);
  });

  it('has no interval for a single repetition', () => {
    expect(estimate([7])).toEqual({ n: 1, mean: 7, sd: 0, low: 7, high: 7, over: null });
  });

  it('leaves to the tail of Student what tables say', () => {
    const table = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306];
    for (const [i, t] of table.entries()) expect(studentTail(t, i + 1)).toBeCloseTo(0.025, 4);
    expect(studentTail(22.327, 2)).toBeCloseTo(0.001, 5);
  });

  it('continues the table of Student without a step', () => {
    expect(studentT95(30)).toBeCloseTo(2.042, 3);
    expect(studentT95(31)).toBeCloseTo(2.04, 2);
    expect(studentT95(1000)).toBeCloseTo(1.962, 3);
  });
});

/** First-order autoregression with variance 1; `phi` 0: independent. */
function series(random: Random, phi: number, length = 240): number[] {
  let value = normal(random);
  return Array.from({ length }, () => {
    value = phi * value + Math.sqrt(1 - phi ** 2) * normal(random);
    return value;
  });
}

/** Share of many logs, each replayed with a few seeds, whose interval holds the mean of all such logs, 0. */
function coverageOfLogs(seedNoise: number, of = 500): number {
  const random = stream(1, `logs-${seedNoise}`);
  let held = 0;
  for (let i = 0; i < of; i++) {
    const log = series(random, 0);
    const seeds = Array.from({ length: 3 }, () => log.map((value) => value + seedNoise * normal(random)));
    const influences = log.map((_, slice) => meanOf(seeds.map((seed) => seed[slice]! - meanOf(seed))));
    const { low, high } = estimateOf({ bySeed: Object.fromEntries(seeds.map(meanOf).entries()), influences });
    if (low <= 0 && high >= 0) held++;
  }
  return held / of;
}

/** Share of many series whose interval holds the true mean, 0. */
function coverage(phi: number, length: number, of = 2000): number {
  const random = stream(1, `coverage-${phi}`);
  let held = 0;
  for (let i = 0; i < of; i++) {
    const slices = series(random, phi, length);
    const mean = slices.reduce((sum, value) => sum + value, 0) / length;
    if (Math.abs(mean) <= blockBootstrapHalf(slices)) held++;
  }
  return held / of;
}

describe('the interval over time slices', () => {
  it('covers what other logs would show, however little the seeds of a replay differ', () => {
    const covered = coverageOfLogs(0.05);
    expect(covered).toBeGreaterThan(0.92);
    expect(covered).toBeLessThan(0.97);
    expect(coverageOfLogs(3)).toBeGreaterThan(0.94);
  });

  it('covers the true mean of independent slices in 95 % of cases', () => {
    expect(coverage(0, 240)).toBeGreaterThan(0.935);
    expect(coverage(0, 240)).toBeLessThan(0.965);
  });

  it('is as wide as theory says: independent slices, and sums of an autoregression', () => {
    const meanHalf = (phi: number) => {
      const random = stream(2, `width-${phi}`);
      const halves = Array.from({ length: 500 }, () => blockBootstrapHalf(series(random, phi, 1000)));
      return halves.reduce((sum, half) => sum + half, 0) / halves.length;
    };
    const theory = (phi: number) => (1.96 * Math.sqrt((1 + phi) / (1 - phi))) / Math.sqrt(1000);
    expect(meanHalf(0) / theory(0)).toBeCloseTo(1, 1);
    expect(meanHalf(0.6) / theory(0.6)).toBeCloseTo(1, 1);
  });

  it('is that of blocks which are really drawn', () => {
    const slices = series(stream(3, 'slices'), 0.6);
    const length = blockLength(slices);
    const random = stream(3, 'blocks');
    const blocks = slices.length / length;
    expect(length).toBeGreaterThan(2);
    const means = Array.from({ length: 20_000 }, () => {
      let sum = 0;
      let left = slices.length;
      while (left > 0) {
        const from = Math.floor(random() * slices.length);
        for (let i = 0; i < length && left > 0; i++, left--) sum += slices[(from + i) % slices.length]!;
      }
      return sum / slices.length;
    });
    const drawn = estimate(means).sd * studentT95(Math.floor(blocks) - 1);
    expect(blockBootstrapHalf(slices) / drawn).toBeCloseTo(1, 1);
  });

  it('takes short blocks of independent slices, and longer ones the more they hang together', () => {
    const lengths = [0, 0.4, 0.8].map((phi) => {
      const random = stream(4, `length-${phi}`);
      const all = Array.from({ length: 200 }, () => blockLength(series(random, phi)));
      return all.sort((a, b) => a - b)[100]!;
    });
    expect(lengths[0]).toBeLessThanOrEqual(3);
    expect(lengths[1]).toBeGreaterThan(lengths[0]!);
    expect(lengths[2]).toBeGreaterThan(lengths[1]!);
    expect(lengths[2]).toBeLessThanOrEqual(47);
  });

  it('does not exist where all slices are the same', () => {
    expect(blockBootstrapHalf(new Array(200).fill(0))).toBe(0);
    expect(estimateOf({ bySeed: { 1: 1 }, influences: new Array(200).fill(0) }).over).toBeNull();
  });
});

/** Two sections, 200 slices of 0.5 s; the second one is hurt now and then. */
function run(name: string) {
  const random = stream(5, name);
  const counts = (least: number) => {
    const offered = Array.from({ length: 200 }, () => 20 + Math.floor(10 * random()));
    return { offered, ok: offered.map((count) => Math.round(count * (random() < 0.1 ? least : 1))) };
  };
  const slices: RunSlices = {
    oneSample: true,
    seconds: new Array(200).fill(0.5),
    sections: [
      { group: 'a', class: 'gold', tenant: null, weight: 4, ...counts(1) },
      { group: 'b', class: 'bronze', tenant: null, weight: 1, ...counts(0.5) },
    ],
  };
  return { slices };
}

describe('figures of a run that no seed changes', () => {
  it('have the interval of a ratio, as blocks that are really drawn have it', () => {
    const { slices } = run('ratio');
    const [gold, bronze] = slices.sections as [RunSlices['sections'][0], RunSlices['sections'][0]];
    const random = stream(5, 'ratio-blocks');
    const ratios = Array.from({ length: 20_000 }, () => {
      let [ok, offered] = [0, 0];
      for (let i = 0; i < 200; i++) {
        const at = Math.floor(random() * 200);
        ok += 4 * gold.ok[at]! + bronze.ok[at]!;
        offered += 4 * gold.offered[at]! + bronze.offered[at]!;
      }
      return ok / offered;
    });
    const { influences } = influencesOf([{ slices }], slicedFigure('weightedAttainment')!);
    const mean = influences!.reduce((sum, value) => sum + value, 0);
    expect(mean).toBeCloseTo(0, 9);
    const independent = estimate(influences!.map((value) => value));
    expect(independent.sd / Math.sqrt(200) / estimate(ratios).sd).toBeCloseTo(1, 1);
  });

  it('are those of one class where a figure names it', () => {
    const one = run('class');
    expect(figureOfRun(one, 'class.gold.attainment', 1).over).toBeNull();
    expect(figureOfRun(one, 'class.bronze.attainment', 0.95).over).toBe('slices');
    expect(figureOfRun(one, 'goodputRps', 90).over).toBe('slices');
    expect(figureOfRun(one, 'p99', 12)).toMatchObject({ over: null, low: 12, high: 12 });
  });

  it('are compared slice by slice: what hurts both alike does not hide the difference', () => {
    const figure = slicedFigure('goodputRps')!;
    const [a, other] = [run('a'), run('other')];
    const [section] = a.slices.sections as [RunSlices['sections'][0]];
    const less = { ...section, ok: section.ok.map((count) => count - 1) };
    const b = { slices: { ...a.slices, sections: [less, ...a.slices.sections.slice(1)] } };
    // One request less in every slice: the difference is the same all of the time.
    expect(marginBetween(a, b, figure)).toBeNull();
    expect(marginBetween(a, other, figure)).toBeGreaterThan(0.1);
    expect(differenceOf({ bySeed: { 1: 1 } }, { bySeed: { 1: 1 }, ...influencesOf([a], figure) })).toBeNull();
  });
});

describe('intervals for people', () => {
  const interval = (mean: number, low: number, high: number) =>
    ({ n: 3, mean, sd: 0, low, high, over: 'seeds' }) as const;

  it('do not go beyond what is possible', () => {
    expect(percentWithInterval(interval(0.942, 0.939, 0.945))).toBe('94.2 ± 0.3');
    expect(percentWithInterval(interval(0.986, 0.932, 1.04))).toBe('98.6 (93.2 to 100.0)');
    expect(percentWithInterval(estimate([0.5]))).toBe('50.0');
    expect(shareWithInterval(interval(0.942, 0.939, 0.945))).toBe('94.2 ± 0.3 %');
    expect(shareWithInterval(interval(0.986, 0.932, 1.04))).toBe('98.6 % (93.2 to 100.0)');
    expect(withInterval(interval(480, 477.9, 482.1))).toBe('480 ± 2.1');
    expect(withInterval(interval(480, 480, 480))).toBe('480');
    expect(withInterval(interval(1.8, -1.8, 5.4))).toBe('1.8 (0 to 5.4)');
  });

  it('are never nothing where there is one', () => {
    expect(percentWithInterval(interval(0.5, 0.4999, 0.5001))).toBe('50.0 ± <0.1');
    expect(attainmentText({ slices: run('text').slices, summary: { attainment: 0.97 } as never })).toMatch(
      /^97\.0 ± \d\.\d %$/,
    );
  });
});
