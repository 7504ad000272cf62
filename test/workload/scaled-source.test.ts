import { describe, expect, test } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { openWorkload, type StreamedSource } from '../../src/workload/index.js';
import type { SpecOf } from '../../src/workload/spec.js';
import { failure, modelNames, scratch } from './support.js';

const { file } = scratch();
const HEADER = 'arrival_ns,model_id,slo_ns,length\n';

async function open(path: string, changes: Partial<SpecOf<'arrivals'>> = {}) {
  const spec: SpecOf<'arrivals'> = { kind: 'arrivals', path, overrideSlo: false, ...changes };
  return openWorkload(spec, { models: modelNames(3), sloNs: 77, seed: 1 });
}

/** Requests as rows of the file that they come from. */
async function rowsOf(source: StreamedSource): Promise<number[][]> {
  const rows: number[][] = [];
  for (;;) {
    while (source.starved) await source.refill();
    if (source.timeNs === Number.POSITIVE_INFINITY) return rows;
    rows.push([source.timeNs, source.model, source.sloNs, source.length]);
    source.advance();
  }
}

async function play(path: string, changes: Partial<SpecOf<'arrivals'>> = {}) {
  return rowsOf((await open(path, changes)).source);
}

/** Bursts of 50 rows within 50 ms, a second apart; more than one block of the file. */
const BURSTS = Array.from({ length: 8000 }, (_, i) => {
  const timeNs = Math.floor(i / 50) * 1e9 + (i % 50) * 1e6;
  return [timeNs, i % 3, 1000 + (i % 7), 1 + (i % 500)];
});
const bursts = file('bursts.csv', HEADER + BURSTS.map((row) => `${row.join(',')}\n`).join(''));

describe('scale of an arrivals file', () => {
  test('a scale of 1 plays the rows as they are', async () => {
    expect(await play(bursts, { scale: 1, speed: 1 })).toEqual(BURSTS);
  });

  test.each([2, 2.5, 8])('%d copies of each row, with its model, SLO and length', async (scale) => {
    const played = await play(bursts, { scale });
    const wanted = BURSTS.length * scale;
    expect(Math.abs(played.length - wanted)).toBeLessThanOrEqual(Number.isInteger(scale) ? 0 : 180);
    const times = played.map(([timeNs]) => timeNs!);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    // From row to row: the first copy is the row itself, and all copies come before the next.
    const next = BURSTS.slice(1).map(([timeNs]) => timeNs!);
    let row = 0;
    let copies = 0;
    for (const [timeNs, ...rest] of played) {
      if (row < next.length && timeNs! >= next[row]!) {
        expect(copies).toBeGreaterThanOrEqual(Math.floor(scale));
        [row, copies] = [row + 1, 0];
        expect(timeNs).toBe(BURSTS[row]![0]);
      }
      expect(rest).toEqual(BURSTS[row]!.slice(1));
      expect(++copies).toBeLessThanOrEqual(Math.ceil(scale));
    }
    expect(row).toBe(BURSTS.length - 1);
  });

  test('a scale below 1 keeps each row with that chance', async () => {
    const thinned = await play(bursts, { scale: 0.25 });
    // Four standard deviations of a binomial.
    expect(Math.abs(thinned.length - 2000)).toBeLessThan(4 * Math.sqrt(8000 * 0.25 * 0.75));
    const draw = stream(1, 'workload/copies');
    expect(thinned).toEqual(BURSTS.filter(() => draw() < 0.25));
  });

  test('bursts stay bursts: variance / mean of the counts grows with the scale', async () => {
    const dispersion = (rows: readonly (readonly number[])[]) => {
      const counts = new Array<number>(1600).fill(0);
      for (const [timeNs] of rows) counts[Math.floor(timeNs! / 1e8)]!++;
      const mean = rows.length / counts.length;
      return counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length / mean;
    };
    const ratio = dispersion(await play(bursts, { scale: 4 })) / dispersion(BURSTS);
    expect(ratio).toBeGreaterThan(3.7);
    expect(ratio).toBeLessThan(4.1);
  });
});

describe('speed of an arrivals file', () => {
  test('divides the times; start and duration are as played', async () => {
    const path = file('even.csv', `${HEADER}0,0,1,1\n10,1,1,1\n21,2,1,1\n40,0,1,1\nnot,read,on,1\n`);
    const opened = await open(path, { speed: 2, startNs: 100, durationNs: 20 });
    expect(opened.durationNs).toBe(120);
    expect((await rowsOf(opened.source)).map(([timeNs]) => timeNs)).toEqual([100, 105, 110]);
  });
});

describe('the length column', () => {
  const column = { kind: 'column', max: 10 } as const;

  test('longer inputs count as the longest', async () => {
    const path = file('long.csv', `${HEADER}0,0,1,9\n1,0,1,11\n2,0,1, 400\n`);
    expect((await play(path, { length: column })).map(([, , , length]) => length)).toEqual([9, 10, 10]);
  });

  test('a file without it', async () => {
    const path = file('none.csv', 'arrival_ns,model_id,slo_ns\n0,0,1\n');
    const { code, message } = await failure(() => play(path, { length: column }));
    expect(code).toBe('E_TRACE_HEADER');
    expect(message).toMatch(/none\.csv:1: has no column length, which length asks for/);
  });
});
