import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DISK_FILES } from '../../src/base/files/disk-files.js';
import { offeredMix } from '../../src/workload/offered-mix.js';

const DIR = mkdtempSync(join(tmpdir(), 'escapement-'));
const CONTEXT = { models: ['a', 'b', 'c'], sloNs: 1e9, seed: 1, files: DISK_FILES };
const MINUTE_NS = 60e9;

function file(name: string, text: string): string {
  const path = join(DIR, name);
  writeFileSync(path, text);
  return path;
}

describe('offeredMix', () => {
  it('splits the rate of a generator by popularity over the models that it addresses', async () => {
    const spec = { kind: 'poisson', rateRps: 60, durationNs: 1e9 } as const;
    const mix = async (rest: object) =>
      Array.from(await offeredMix({ ...spec, popularity: { kind: 'uniform' }, ...rest }, CONTEXT));
    expect(await mix({})).toEqual([20, 20, 20]);
    expect(await mix({ models: ['c', 'a'] })).toEqual([30, 0, 30]);
    const [first, second, third] = await mix({ popularity: { kind: 'zipf', s: 1 } });
    expect((first as number) / (second as number)).toBeCloseTo(2, 9);
    expect((first as number) / (third as number)).toBeCloseTo(3, 9);
  });

  const minutes = file(
    'minutes.csv',
    'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,small,http,0,60,0\no,a,big,http,600,0,1200\n',
  );
  const azure = {
    kind: 'azure-2019',
    path: minutes,
    scale: 1,
    assign: 'stripe',
    intervalNs: MINUTE_NS,
  } as const;

  it('takes minutes by their mean, functions by falling total', async () => {
    expect(Array.from(await offeredMix(azure, CONTEXT))).toEqual([10, expect.closeTo(1 / 3, 9), 0]);
    const faster = { ...azure, intervalNs: MINUTE_NS / 10, scale: 2 };
    expect(Array.from(await offeredMix(faster, CONTEXT))).toEqual([200, expect.closeTo(20 / 3, 9), 0]);
  });

  it('counts of a slice what is played, and of a minute that is cut its part', async () => {
    expect(Array.from(await offeredMix({ ...azure, minutes: [1, 3] }, CONTEXT))).toEqual([10, 0.5, 0]);
    // Minute 0 and the first half of minute 1, in 90 s.
    const cut = await offeredMix({ ...azure, durationNs: 1.5 * MINUTE_NS }, CONTEXT);
    expect(Array.from(cut)).toEqual([expect.closeTo(600 / 90, 9), expect.closeTo(30 / 90, 9), 0]);
    await expect(offeredMix({ ...azure, minutes: [1, 4] }, CONTEXT)).rejects.toThrow(
      '1:4 is not within the trace',
    );
  });

  it('takes single rows by their mean over the time that is played', async () => {
    const path = file(
      'rows.csv',
      'app,func,end_timestamp,duration\na,f,1.0,1\na,f,2.0,1\na,g,3.0,1\na,f,4.0,1\n',
    );
    const rows = { kind: 'azure-2021', path, scale: 3, assign: 'stripe', speed: 2 } as const;
    // Four rows in 4 s at double speed, three copies each.
    expect(Array.from(await offeredMix(rows, CONTEXT))).toEqual([4.5, 1.5, 0]);
    expect(Array.from(await offeredMix({ ...rows, durationNs: 1e9 }, CONTEXT))).toEqual([6, 0, 0]);
  });

  it('reads a trace again when it has changed', async () => {
    const path = file('changing.csv', 'HashOwner,HashApp,HashFunction,Trigger,1\no,a,f,http,60\n');
    expect((await offeredMix({ ...azure, path }, CONTEXT))[0]).toBe(1);
    file('changing.csv', 'HashOwner,HashApp,HashFunction,Trigger,1\no,a,f,http,90\n');
    utimesSync(path, 1, 1);
    expect((await offeredMix({ ...azure, path }, CONTEXT))[0]).toBe(1.5);
  });
});
