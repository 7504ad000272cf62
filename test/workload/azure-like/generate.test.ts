import { describe, expect, test } from 'vitest';
import { DISK_FILES } from '../../../src/base/files/disk-files.js';
import { stream } from '../../../src/base/random/streams.js';
import { generateAzureLike, readAzure2019 } from '../../../src/workload/index.js';
import { type MinuteStatistics, statisticsOf } from '../../../src/workload/minute-statistics.js';
import { sharedTrace } from '../support.js';

const DAY = { functions: 1250, minutes: 1440, rateRps: 211.6 };

function day(seed: number): MinuteStatistics {
  return statisticsOf(generateAzureLike(DAY, stream(seed, 'trace')));
}

describe.each([1, 2])('a made-up day resembles the real one (seed %d)', (seed) => {
  const made = day(seed);

  test('few functions make most of the traffic', () => {
    expect(made.invocations / (DAY.rateRps * 86_400)).toBeCloseTo(1, 3);
    expect(made.top10Share).toBeCloseTo(0.575, 1.5);
    expect(made.topPercentShare).toBeCloseTo(0.606, 1.5);
    expect(made.belowOnePerMinute).toBeCloseTo(0.73, 1.5);
    expect(made.belowOnePerHour).toBeCloseTo(0.37, 1.5);
  });

  test('and most functions are idle or bursting in most minutes', () => {
    expect(made.activePerMinute! / DAY.functions).toBeCloseTo(0.18, 1.5);
    expect(Math.abs(Number(made.cvP50) - 7.9)).toBeLessThan(1);
    expect(Math.abs(Number(made.cvP90) - 37.9)).toBeLessThan(1);
    expect(made.peakToMean).toBeGreaterThan(1.6);
    expect(made.peakToMean).toBeLessThan(2.8);
    expect(made.dispersion).toBeGreaterThan(200);
    expect(made.dispersion).toBeLessThan(1000);
  });
});

test('the statistics of the real day are what the generator aims at', async ({ skip }) => {
  const { path, present } = sharedTrace('azure2019_invitro_1250f_1440min_inv.csv');
  skip(!present, `${path} is not there`);
  const real = statisticsOf(await readAzure2019(DISK_FILES, path));
  const made = day(1);
  const within: readonly (readonly [keyof MinuteStatistics, number])[] = [
    ['top10Share', 0.03],
    ['topPercentShare', 0.03],
    ['belowOnePerMinute', 0.03],
    ['belowOnePerHour', 0.03],
    ['activePerMinute', 0.1],
    ['cvP50', 0.12],
    ['cvP90', 0.02],
    ['peakToMean', 0.3],
  ];
  for (const [key, tolerance] of within) {
    expect(
      Math.abs(Number(made[key]) / Number(real[key]) - 1),
      `${key} ${made[key]} against ${real[key]}`,
    ).toBeLessThan(tolerance);
  }
});

test.each([
  [1, 1, 10],
  [7, 3, 0.5],
  [300, 120, 100],
  [4000, 60, 3000],
])('%d functions, %d minutes: each invoked, and %d/s in all', (functions, minutes, rateRps) => {
  const counts = generateAzureLike({ functions, minutes, rateRps }, stream(1, 'trace'));
  expect([counts.functions, counts.minutes]).toEqual([functions, minutes]);
  expect(counts.totals.every((total) => total >= 1)).toBe(true);
  const expected = rateRps * 60 * minutes;
  const invocations = counts.totals.reduce((sum, total) => sum + total, 0);
  expect(Math.abs(invocations - expected)).toBeLessThan(0.02 * expected + functions);
});
