import { describe, expect, test } from 'vitest';
import { NS_PER_MINUTE } from '../../src/base/units.js';
import { openWorkload } from '../../src/workload/index.js';
import type { SpecOf } from '../../src/workload/spec.js';
import { collect, failure, modelNames, scratch } from './support.js';

const { file } = scratch();
/** Three functions, five minutes, the third minute silent. */
const path = file(
  'counts.csv',
  'HashFunction,1,2,3,4,5\nrare,10,0,0,0,10\nbusy,3000,6000,0,6000,3000\nmiddle,1000,0,0,2000,1000\n',
);
const spec: SpecOf<'azure-2019'> = {
  kind: 'azure-2019',
  path,
  scale: 1,
  assign: 'blocks',
  intervalNs: NS_PER_MINUTE,
};

async function open(changes: Partial<SpecOf<'azure-2019'>> = {}, models = 3) {
  return openWorkload({ ...spec, ...changes }, { models: modelNames(models), sloNs: 1, seed: 1 });
}

async function play(changes: Partial<SpecOf<'azure-2019'>> = {}, models = 3) {
  return collect((await open(changes, models)).source);
}

describe('counts of a minute become arrivals in it', () => {
  test('each minute has about its counts, each function about its own', async () => {
    const arrivals = await play();
    const counts = [0, 1, 2].map(() => [0, 0, 0, 0, 0]);
    for (const { timeNs, user } of arrivals) counts[user][Math.floor(timeNs / NS_PER_MINUTE)]++;
    const expected = [
      [3000, 6000, 0, 6000, 3000],
      [1000, 0, 0, 2000, 1000],
      [10, 0, 0, 0, 10],
    ];
    expected.forEach((row, fn) => {
      row.forEach((count, minute) => {
        expect(Math.abs(counts[fn][minute] - count)).toBeLessThanOrEqual(4 * Math.sqrt(count));
      });
    });
  });

  test('arrivals are Poisson: over many seconds the variance of the count is its mean', async () => {
    const arrivals = await play({ scale: 10, minutes: [1, 2] });
    const bins = new Array<number>(600).fill(0);
    for (const { timeNs } of arrivals) bins[Math.floor(timeNs / 1e8)]++;
    const mean = arrivals.length / bins.length;
    const variance = bins.reduce((sum, count) => sum + (count - mean) ** 2, 0) / bins.length;
    expect(Math.abs(mean - 100)).toBeLessThan(2);
    expect(variance / mean).toBeGreaterThan(0.8);
    expect(variance / mean).toBeLessThan(1.25);
  });

  test('scale multiplies the requests, interval stretches the minutes, and neither does the other', async () => {
    const base = (await play()).length;
    expect(Math.abs((await play({ scale: 2.5 })).length / base - 2.5)).toBeLessThan(0.1);
    const fast = await play({ intervalNs: NS_PER_MINUTE / 60 });
    expect(Math.abs(fast.length / base - 1)).toBeLessThan(0.05);
    expect(fast[fast.length - 1].timeNs).toBeLessThan(5e9);
  });

  test('a slice is played from time 0', async () => {
    const { source, durationNs } = await open({ minutes: [3, 5] });
    const arrivals = await collect(source);
    expect(durationNs).toBe(2 * NS_PER_MINUTE);
    expect(arrivals[0].timeNs).toBeLessThan(1e9);
    expect(Math.abs(arrivals.length - 12_010)).toBeLessThan(500);
  });
});

describe('functions drive models', () => {
  const modelsOf = async (changes: Partial<SpecOf<'azure-2019'>>, models: number) => {
    const modelOf = new Map((await play(changes, models)).map(({ user, model }) => [user, model]));
    return [0, 1, 2].map((user) => modelOf.get(user));
  };

  test('in blocks by popularity, or dealt out in turn', async () => {
    expect(await modelsOf({}, 2)).toEqual([0, 0, 1]);
    expect(await modelsOf({ assign: 'stripe' }, 2)).toEqual([0, 1, 0]);
    expect(await modelsOf({}, 6)).toEqual([0, 2, 4]);
    expect(await modelsOf({ models: ['model1', 'model2'] }, 4)).toEqual([1, 1, 2]);
  });
});

test('a slice beyond the trace is an error that says how long it is', async () => {
  const { code, message } = await failure(() => open({ minutes: [2, 6] }));
  expect(code).toBe('E_CONFIG_VALUE');
  expect(message).toMatch(/workload\.minutes: 2:6 is not within the trace's minutes 0:5/);
});

test('a scale that would outrun the clock is refused with the minute and the rate', async () => {
  expect(await failure(() => open({ scale: 1e6 }))).toMatchObject({
    code: 'E_CONFIG_VALUE',
    message: expect.stringMatching(/^workload\.scale: minute 0 of the trace would bring \d+ requests\/s/),
  });
});
