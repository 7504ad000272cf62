import { expect, it } from 'vitest';
import { DISK_FILES } from '../../src/base/files/disk-files.js';
import { multiplied, openWorkload } from '../../src/workload/open.js';
import type { WorkloadSpec } from '../../src/workload/spec.js';
import { type Arrival, collect, failure, scratch } from './support.js';

const { file } = scratch();
const CONTEXT = { models: ['a', 'b', 'b2'], sloNs: 1e6, seed: 1, files: DISK_FILES };
/** A request of each model in turn every ms, and none in the second of three seconds. */
const ROWS = Array.from({ length: 3000 }, (_, i) => `${i * 1e6},${i % 3},${1e6 + i}`).filter(
  (_, i) => i < 1000 || i >= 2000,
);
const LOG: WorkloadSpec = {
  kind: 'arrivals',
  path: file('log.csv', `arrival_ns,model_id,slo_ns\n${ROWS.join('\n')}\n`),
  overrideSlo: false,
};

async function play(spec: WorkloadSpec): Promise<Arrival[]> {
  return collect((await openWorkload(spec, CONTEXT)).source);
}

it('sends requests of a model several times, and leaves all others as they are', async () => {
  const [base, more] = [await play(LOG), await play({ ...LOG, boost: { a: 4.5 } })];
  const of = (arrivals: Arrival[], model: number) => arrivals.filter((one) => one.model === model);
  expect(of(more, 1)).toEqual(of(base, 1));
  expect(of(more, 2)).toEqual(of(base, 2));
  expect(of(more, 0).length / of(base, 0).length).toBeCloseTo(4.5, 1);
  expect(more.map(({ timeNs }) => timeNs)).toEqual(more.map(({ timeNs }) => timeNs).sort((a, b) => a - b));
  // Copies have the SLO of their row, and come within a gap: few in the pause, and not all at one time.
  const rows = new Set(of(base, 0).map(({ sloNs }) => sloNs));
  expect(of(more, 0).every(({ sloNs }) => rows.has(sloNs))).toBe(true);
  const inPause = of(more, 0).filter(({ timeNs }) => timeNs > 1.01e9 && timeNs < 1.99e9);
  expect(inPause).toEqual([]);
  expect(new Set(of(more, 0).map(({ timeNs }) => timeNs)).size).toBeGreaterThan(0.99 * of(more, 0).length);
  expect(await play({ ...LOG, boost: { a: 4.5 } })).toEqual(more);
});

it('drops requests with a factor below 1, and multiplies the factors of all patterns that match', async () => {
  const counts = async (boost: Record<string, number>) => {
    const arrivals = await play({ ...LOG, boost });
    return [0, 1, 2].map((model) => arrivals.filter((one) => one.model === model).length);
  };
  const [a, b, b2] = await counts({});
  const [fewer, twice, six] = (await counts({ a: 0.5, 'b*': 2, b2: 3 })) as [number, number, number];
  expect(fewer / a!).toBeCloseTo(0.5, 0);
  expect(fewer).toBeLessThan(0.6 * a!);
  // The last copies would come after the end.
  expect(twice / b!).toBeCloseTo(2, 2);
  expect(six / b2!).toBeCloseTo(6, 1);
  expect(await failure(() => play({ ...LOG, boost: { c: 2 } }))).toMatchObject({ code: 'E_UNKNOWN_MODEL' });
});

it('multiplies every kind of workload', async () => {
  const rest = { durationNs: 4e9, popularity: { kind: 'uniform' } } as const;
  const specs: WorkloadSpec[] = [
    LOG,
    { ...rest, kind: 'poisson', rateRps: 500 },
    { ...rest, kind: 'on-off', onRateRps: 900, offRateRps: 100, onNs: 1e8, offNs: 1e8 },
    { ...rest, kind: 'ramp', fromRateRps: 100, toRateRps: 900 },
    ...[1, 2].map(
      (scale): WorkloadSpec => ({
        ...{ kind: 'azure-like', functions: 9, minutes: 4, intervalNs: 1e9, assign: 'blocks' },
        ...{ rateRps: 500, scale },
      }),
    ),
  ];
  for (const spec of specs) {
    const [once, thrice] = [await play(spec), await play(multiplied(spec, 3))];
    expect(thrice.length / once.length).toBeCloseTo(3, 0);
    expect(Math.abs(thrice.length / once.length - 3)).toBeLessThan(0.15);
  }
  const clients = { durationNs: 1e9, kind: 'closed-loop', clients: 3, concurrency: 1, thinkNs: 0 } as const;
  expect(multiplied(clients, 1.5).clients).toBe(5);
  expect(multiplied(clients, 0.1).clients).toBe(1);
});
