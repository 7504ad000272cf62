import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openWorkload } from '../../src/workload/index.js';
import type { SpecOf } from '../../src/workload/spec.js';
import { collect, failure, modelNames, scratch } from './support.js';

const { file } = scratch();
const HEADER = 'arrival_ns,model_id,slo_ns\n';

async function open(path: string, changes: Partial<SpecOf<'arrivals'>> = {}, models = modelNames(3)) {
  const spec: SpecOf<'arrivals'> = { kind: 'arrivals', path, overrideSlo: false, ...changes };
  return openWorkload(spec, { models, sloNs: 77, seed: 1 });
}

async function play(text: string, changes: Partial<SpecOf<'arrivals'>> = {}, models = modelNames(3)) {
  return collect((await open(file('arrivals.csv', HEADER + text), changes, models)).source);
}

describe('an arrivals file is played as it is', () => {
  test('an SLO of the run or the section replaces the column', async () => {
    expect((await play('0,2,100\n', { overrideSlo: true }))[0].sloNs).toBe(77);
    expect((await play('0,2,100\n', { overrideSlo: true, sloNs: 66 }))[0].sloNs).toBe(66);
  });

  test('models by name, also where names are numbers', async () => {
    const byName = await play('0,model1,1\n1,2,1\n2,model0,1\n');
    expect(byName.map(({ model }) => model)).toEqual([1, 2, 0]);
    const numbers = await play('0,30,1\n1,10,1\n2,2,1\n', {}, ['10', '20', '30']);
    expect(numbers.map(({ model }) => model)).toEqual([2, 0, 2]);
    const accents = await play('0,modèle,1\n', {}, ['a', 'modèle']);
    expect(accents[0].model).toBe(1);
  });

  test.each(['last.csv', 'last.csv.gz'])(
    'without a duration it lasts until after the last row: %s',
    async (name) => {
      const rows = Array.from({ length: 9000 }, (_, i) => `${i * 10},0,100000000`).join('\n');
      expect((await open(file(name, `${HEADER}${rows}\n\n`), { startNs: 5 })).durationNs).toBe(89_996);
    },
  );

  test('any rows come out as they went in, packed or not', async () => {
    const row = fc.tuple(fc.nat(2 ** 31), fc.nat(2), fc.integer({ min: 1, max: 2 ** 40 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 200 }),
        fc.boolean(),
        async (rows, packed) => {
          rows.sort((a, b) => a[0] - b[0]);
          const text = HEADER + rows.map((fields) => `${fields.join(',')}\n`).join('');
          const path = file(packed ? 'any.csv.gz' : 'any.csv', text);
          const arrivals = await collect((await open(path)).source);
          expect(arrivals.map(({ timeNs, model, sloNs }) => [timeNs, model, sloNs])).toEqual(rows);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('a long file is read while it is played', () => {
  const ROWS = 100_000;
  const text = HEADER + Array.from({ length: ROWS }, (_, i) => `${i * 1000},${i % 3},100000000\n`).join('');

  test('starves between blocks, and says the last time until it is refilled', async () => {
    const { source } = await open(file('long.csv', text));
    let last = -1;
    let refills = 0;
    let arrivals = 0;
    for (;;) {
      if (source.starved) {
        expect(source.timeNs).toBe(last);
        await source.refill();
        expect(source.starved).toBe(false);
        refills++;
      }
      if (source.timeNs === Number.POSITIVE_INFINITY) break;
      expect(source.timeNs).toBe(arrivals * 1000);
      last = source.timeNs;
      arrivals++;
      source.advance();
    }
    expect(arrivals).toBe(ROWS);
    expect(refills).toBeGreaterThan(3);
  });

  test('an archive that ends early is found when its end is reached', async () => {
    const whole = gzipSync(text);
    const path = file('short.csv.gz', whole.subarray(0, whole.length / 2));
    const error = await failure(async () => collect((await open(path, { durationNs: 1e12 })).source));
    expect(error.code).toBe('E_FILE_TRUNCATED');
    expect(error.message).toMatch(/short\.csv\.gz: the compressed data ends early or is corrupt/);
  });
});

describe('bad input is named with file, line and column', () => {
  test.each([
    ['0,0,1\nx,0,1\n', 'E_TRACE_VALUE', /arrivals\.csv:3: arrival_ns: "x" is not a whole number/],
    ['5,0,1\n\n4,0,1\n', 'E_TRACE_ORDER', /arrivals\.csv:4: arrival_ns: 4 comes after 5; sort the rows/],
    [
      '0,3,1\n',
      'E_UNKNOWN_MODEL',
      /arrivals\.csv:2: model_id: no model "3".*models of the workload: 0 to 2, or by name; known: /,
    ],
    ['0,bert,1\n', 'E_UNKNOWN_MODEL', /no model "bert"/],
  ])('%j', async (text, code, message) => {
    const error = await failure(() => play(text));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});
