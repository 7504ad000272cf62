import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DISK_FILES } from '../../src/base/files/disk-files.js';
import { stream } from '../../src/base/random/streams.js';
import {
  generateAzureLike,
  mergeSources,
  openWorkload,
  readAzure2019,
  type StreamedSource,
  traceInfo,
  writeArrivals,
  writeAzure2019,
} from '../../src/workload/index.js';
import { collect, failure, modelNames, scratch } from './support.js';

const { file, folder } = scratch();
const context = { models: modelNames(3), sloNs: 5_000_000, seed: 1 };
const poisson = {
  kind: 'poisson',
  rateRps: 1000,
  durationNs: 20e9,
  popularity: { kind: 'uniform' },
} as const;

describe('writing counts', () => {
  test.each(['made.csv', 'made.csv.gz'])('%s reads back as it was', async (name) => {
    const counts = generateAzureLike({ functions: 50, minutes: 30, rateRps: 20 }, stream(1, 'trace'));
    const path = join(folder, 'new', 'folder', name);
    await writeAzure2019(path, counts, 1);
    expect(await readAzure2019(DISK_FILES, path)).toEqual(counts);
  });
});

async function lengthsOf(source: StreamedSource): Promise<number[]> {
  const lengths: number[] = [];
  while (source.timeNs !== Number.POSITIVE_INFINITY) {
    lengths.push(source.length);
    source.advance();
    while (source.starved) await source.refill();
  }
  return lengths;
}

describe('writing arrivals', () => {
  test.each([
    ['by-index.csv', undefined],
    ['by-name.csv.gz', context.models],
  ])('%s plays back as it was', async (name, names) => {
    const path = join(folder, name);
    const written = await writeArrivals(path, (await openWorkload(poisson, context)).source, names);
    const original = await collect((await openWorkload(poisson, context)).source);
    expect(written).toEqual({ arrivals: original.length, lastNs: original.at(-1)?.timeNs });
    const replay = await openWorkload({ kind: 'arrivals', path, overrideSlo: false }, context);
    expect(await collect(replay.source)).toEqual(original);
  });

  test('lengths come along, and an empty cell where an input has none', async () => {
    const path = join(folder, 'lengths.csv');
    const spec = { ...poisson, length: { kind: 'uniform', from: 1, to: 512 } } as const;
    const both = async () =>
      mergeSources([
        (await openWorkload(spec, context, 'varied')).source,
        (await openWorkload(poisson, context, 'plain')).source,
      ]);
    await writeArrivals(path, await both());
    const replay = await openWorkload({ kind: 'arrivals', path, overrideSlo: false }, context);
    const played = await lengthsOf(replay.source);
    expect(played).toEqual(await lengthsOf(await both()));
    expect(played).toContain(0);
    expect(Math.max(...played)).toBe(512);
  });

  test('names with commas and quotes', async () => {
    const models = ['a, "b"', 'c', '"d'];
    const path = join(folder, 'quoted.csv');
    await writeArrivals(path, (await openWorkload(poisson, { ...context, models })).source, models);
    const replay = await openWorkload({ kind: 'arrivals', path, overrideSlo: false }, { ...context, models });
    expect(await collect(replay.source)).toEqual(
      await collect((await openWorkload(poisson, context)).source),
    );
  });

  test('what goes wrong on the way leaves nothing behind', async () => {
    const bad = file('bad.csv', 'arrival_ns,model_id,slo_ns\n0,0,1\n1,0,1\noops,0,1\n');
    const rows = Array.from({ length: 50_000 }, (_, i) => `${i},0,100000000\n`).join('');
    const late = file('late.csv', `arrival_ns,model_id,slo_ns\n${rows}oops,0,1\n`);
    for (const path of [bad, late]) {
      const out = join(folder, 'out.csv');
      const error = await failure(async () => {
        const spec = { kind: 'arrivals', path, overrideSlo: false, durationNs: 1e9 } as const;
        await writeArrivals(out, (await openWorkload(spec, context)).source);
      });
      expect(error.code).toBe('E_TRACE_VALUE');
      expect(readdirSync(folder).filter((name) => name.startsWith('out.csv'))).toEqual([]);
    }
  });
});

describe('the bundled trace', () => {
  const bundled = resolve(import.meta.dirname, '../../traces/azure-like-2h.csv.gz');

  test('is what its README says', async () => {
    expect(existsSync(bundled)).toBe(true);
    expect(statSync(bundled).size).toBeLessThan(1_000_000);
    const info = await traceInfo(bundled);
    expect(info).toMatchObject({ kind: 'azure-2019', functions: 300, minutes: 120 });
    expect(info.invocations).toBe(720_034);
    expect(Math.round(info.peakRps ?? 0)).toBe(214);
  });

  test('is made by the generator with seed 1', async () => {
    const again = join(folder, 'again.csv');
    const shape = { functions: 300, minutes: 120, rateRps: 100 };
    await writeAzure2019(again, generateAzureLike(shape, stream(1, 'trace')), 1);
    expect(gunzipSync(readFileSync(bundled)).equals(readFileSync(again))).toBe(true);
  });
});
