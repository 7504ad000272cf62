import { describe, expect, test } from 'vitest';
import { openWorkload, type WorkloadSpec } from '../../src/workload/index.js';
import { collect, modelNames, scratch, sharedTrace } from './support.js';

const { file } = scratch();

async function open(spec: WorkloadSpec, models = 4) {
  return openWorkload(spec, { models: modelNames(models), sloNs: 1, seed: 1 });
}

describe('azure-2021: rows with end and duration', () => {
  const path = file(
    'invocations.csv',
    // Begins: f 1.0, g 0.25, f 0.5, f 3.0: by end they are in another order.
    'app,func,end_timestamp,duration\na,f,1.5,0.5\na,g,2,1.75\na,f,2.5,2\na,f,3.0000000015,0.0000000005\n',
  );
  const spec = { kind: 'azure-2021', path, scale: 1, speed: 1, assign: 'blocks' } as const;

  test('arrive at end − duration, sorted, the first at 0', async () => {
    const arrivals = await collect((await open(spec)).source);
    expect(arrivals.map(({ timeNs }) => timeNs)).toEqual([0, 250_000_000, 750_000_000, 2_750_000_001]);
  });

  test('functions by falling number of rows drive models', async () => {
    const arrivals = await collect((await open(spec)).source);
    expect(arrivals.map(({ user, model }) => [user, model])).toEqual([
      [1, 2],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  test('speed divides the times, start shifts, duration cuts', async () => {
    const { source, durationNs } = await open({ ...spec, speed: 2, startNs: 10, durationNs: 400_000_000 });
    expect((await collect(source)).map(({ timeNs }) => timeNs)).toEqual([10, 125_000_010, 375_000_010]);
    expect(durationNs).toBe(400_000_010);
  });

  test('lasts to one mean gap after the last row', async () => {
    expect((await open(spec)).durationNs).toBe(Math.ceil((2_750_000_001 / 3) * 4));
  });
});

describe('azure-llm: exact timestamps', () => {
  const path = file(
    'llm.csv',
    'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9799600,1,2\n2023-11-17 00:00:00.0000001,3,4\n2023-11-17 00:00:01.5,5,6\n',
  );
  const spec = { kind: 'azure-llm', path, scale: 1, speed: 1, popularity: { kind: 'uniform' } } as const;

  test('are offsets from the first row, exact to the last decimal, over midnight too', async () => {
    const arrivals = await collect((await open(spec)).source);
    expect(arrivals.map(({ timeNs }) => timeNs)).toEqual([0, 20_040_100, 1_520_040_000]);
  });

  test.for([
    ['azure_llm2023_conv.csv', 19_366, 1.09],
    ['azure_llm2023_code.csv', 8819, 13.15],
  ] as const)('the public %s', async ([name, rows, cv], { skip }) => {
    const { path: real, present } = sharedTrace(name);
    skip(!present, `${real} is not there`);
    const zipf = { kind: 'zipf', s: 1 } as const;
    const arrivals = await collect((await open({ ...spec, path: real, popularity: zipf })).source);
    expect(arrivals).toHaveLength(rows);
    const gaps = arrivals.slice(1).map(({ timeNs }, i) => timeNs - arrivals[i].timeNs);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(cv, 1);
    const first = arrivals.filter(({ model }) => model === 0).length;
    expect(Math.abs(first / rows - 12 / 25)).toBeLessThan(0.02);
  });
});

describe('scale of traces with exact times', () => {
  const rows = Array.from({ length: 1000 }, (_, i) => `a,f,${i},0`).join('\n');
  const path = file('even.csv', `app,func,end_timestamp,duration\n${rows}\n`);
  const spec = { kind: 'azure-2021', path, scale: 1, speed: 1, assign: 'blocks' } as const;
  const times = async (scale: number) =>
    (await collect((await open({ ...spec, scale })).source)).map(({ timeNs }) => timeNs);

  test('copies lie between their row and the next, the first at its own time', async () => {
    const threefold = await times(3);
    expect(threefold).toHaveLength(3000);
    threefold.forEach((timeNs, i) => {
      expect(Math.floor(timeNs / 1e9)).toBe(Math.floor(i / 3));
    });
    expect(threefold.filter((timeNs) => timeNs % 1e9 === 0)).toHaveLength(1000);
    expect(new Set(threefold).size).toBe(3000);
    // Uniform: the two free copies of a row lie, on average, in the middle of the second.
    const offsets = threefold.map((timeNs) => timeNs % 1e9).filter((offset) => offset > 0);
    const mean = offsets.reduce((sum, offset) => sum + offset, 0) / offsets.length;
    expect(mean / 1e9).toBeCloseTo(0.5, 1);
  });

  test('a fraction is the chance of one more, or of any at all', async () => {
    expect(Math.abs((await times(2.25)).length - 2250)).toBeLessThan(60);
    const thinned = await times(0.3);
    expect(Math.abs(thinned.length - 300)).toBeLessThan(60);
    expect(thinned.every((timeNs) => timeNs % 1e9 === 0)).toBe(true);
  });
});
