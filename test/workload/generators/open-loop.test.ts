import { describe, expect, test } from 'vitest';
import { NS_PER_S } from '../../../src/base/units.js';
import { openWorkload, type WorkloadSpec } from '../../../src/workload/index.js';
import { type Arrival, collect, modelNames } from '../support.js';

const SECONDS = 200;
const common = { durationNs: SECONDS * NS_PER_S, popularity: { kind: 'uniform' } } as const;

async function play(spec: WorkloadSpec, seed: number | string = 1, name?: string): Promise<Arrival[]> {
  const context = { models: modelNames(4), sloNs: 100, seed };
  return collect((await openWorkload(spec, context, name)).source);
}

/** Mean, and standard deviation over mean, of the gaps between arrivals. */
function gaps(arrivals: readonly Arrival[]): { meanNs: number; cv: number } {
  const gapNs = arrivals.slice(1).map(({ timeNs }, i) => timeNs - arrivals[i].timeNs);
  const meanNs = gapNs.reduce((sum, gap) => sum + gap, 0) / gapNs.length;
  const variance = gapNs.reduce((sum, gap) => sum + (gap - meanNs) ** 2, 0) / gapNs.length;
  return { meanNs, cv: Math.sqrt(variance) / meanNs };
}

function between(arrivals: readonly Arrival[], fromS: number, toS: number): number {
  return arrivals.filter(({ timeNs }) => timeNs >= fromS * NS_PER_S && timeNs < toS * NS_PER_S).length;
}

const poisson: WorkloadSpec = { kind: 'poisson', rateRps: 500, ...common };

describe('what all open-loop generators share', () => {
  test('the same seed gives the same arrivals, another seed or section gives others', async () => {
    const first = await play(poisson);
    expect(await play(poisson)).toEqual(first);
    expect((await play(poisson, 2))[0]).not.toEqual(first[0]);
    expect((await play(poisson, 1, 'second'))[0]).not.toEqual(first[0]);
  });

  test('popularity changes the models and leaves the times', async () => {
    const zipf = await play({ ...poisson, popularity: { kind: 'zipf', s: 1 } });
    expect(zipf.map(({ timeNs }) => timeNs)).toEqual((await play(poisson)).map(({ timeNs }) => timeNs));
    const perModel = [0, 1, 2, 3].map((model) => zipf.filter((arrival) => arrival.model === model).length);
    // 1 : 1/2 : 1/3 : 1/4 of 12/25 of all.
    perModel.forEach((count, model) => {
      expect(count / zipf.length).toBeCloseTo(12 / 25 / (model + 1), 2);
    });
  });

  test('arrivals lie in [start, start + duration), in whole ns, with the SLO of the run or their own', async () => {
    const shifted = await play({ ...poisson, startNs: 5 * NS_PER_S, durationNs: NS_PER_S, sloNs: 7 });
    expect(shifted.length).toBeGreaterThan(400);
    expect(shifted.every(({ timeNs }) => timeNs >= 5e9 && timeNs < 6e9 && Number.isInteger(timeNs))).toBe(
      true,
    );
    expect(shifted[0].sloNs).toBe(7);
    expect((await play(poisson))[0].sloNs).toBe(100);
  });
});

test('poisson: the mean rate, and gaps as uneven as an exponential', async () => {
  const { meanNs, cv } = gaps(await play(poisson));
  expect(meanNs / (NS_PER_S / 500)).toBeCloseTo(1, 1);
  expect(cv).toBeCloseTo(1, 1);
});

test('fixed: on the beat from the start on, without drift', async () => {
  const arrivals = await play({ kind: 'fixed', rateRps: 300, ...common });
  expect(arrivals).toHaveLength(300 * SECONDS);
  expect(arrivals.slice(0, 3).map(({ timeNs }) => timeNs)).toEqual([0, 3_333_333, 6_666_667]);
  expect(arrivals[300 * 100].timeNs).toBe(100 * NS_PER_S);
});

test.each([0.25, 1, 4])('gamma: the mean rate with cv %d', async (wanted) => {
  const { meanNs, cv } = gaps(await play({ kind: 'gamma', rateRps: 500, cv: wanted, ...common }));
  expect(Math.abs(meanNs / (NS_PER_S / 500) - 1)).toBeLessThan(0.06);
  expect(Math.abs(cv / wanted - 1)).toBeLessThan(0.06);
});

test('on-off: bursts at one rate, pauses at the other', async () => {
  const phases = { onNs: 2 * NS_PER_S, offNs: 3 * NS_PER_S };
  const silent = await play({ kind: 'on-off', onRateRps: 1000, offRateRps: 0, ...phases, ...common });
  expect(silent.every(({ timeNs }) => timeNs % (5 * NS_PER_S) < 2 * NS_PER_S)).toBe(true);
  expect(Math.abs(silent.length / (SECONDS * 400) - 1)).toBeLessThan(0.02);
  const quiet = await play({ kind: 'on-off', onRateRps: 1000, offRateRps: 100, ...phases, ...common });
  const paused = quiet.filter(({ timeNs }) => timeNs % (5 * NS_PER_S) >= 2 * NS_PER_S).length;
  expect(Math.abs(paused / (SECONDS * 60) - 1)).toBeLessThan(0.05);
});

describe('ramp', () => {
  const ramp = (fromRateRps: number, toRateRps: number) =>
    play({ kind: 'ramp', fromRateRps, toRateRps, ...common });

  test.each([
    [0, 1000],
    [1000, 0],
    [200, 800],
  ])('from %d/s to %d/s in a straight line', async (from, to) => {
    const arrivals = await ramp(from, to);
    for (const [at, until] of [
      [0, 50],
      [75, 125],
      [150, 200],
    ]) {
      const rate = from + ((to - from) * (at + until)) / 2 / SECONDS;
      expect(Math.abs(between(arrivals, at, until) / (until - at) - rate)).toBeLessThan(15);
    }
  });

  test('a level ramp is poisson', async () => {
    const { meanNs, cv } = gaps(await ramp(500, 500));
    expect(meanNs / (NS_PER_S / 500)).toBeCloseTo(1, 1);
    expect(cv).toBeCloseTo(1, 1);
  });
});
