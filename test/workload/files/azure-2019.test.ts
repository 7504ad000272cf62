import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DISK_FILES } from '../../../src/base/files/disk-files.js';
import { readAzure2019 } from '../../../src/workload/files/layout.js';
import type { MinuteCounts } from '../../../src/workload/minute-counts.js';
import { failure, scratch } from '../support.js';

const { file, folder } = scratch();

/** Counts as one array a function, by rank. */
function dense({ functions, minutes, start, rank, count }: MinuteCounts): number[][] {
  const rows = Array.from({ length: functions }, () => new Array<number>(minutes).fill(0));
  for (let minute = 0; minute < minutes; minute++) {
    for (let entry = start[minute]; entry < start[minute + 1]; entry++)
      rows[rank[entry]][minute] = count[entry];
  }
  return rows;
}

describe('the layouts in circulation', () => {
  const expected = [
    [0, 7, 3],
    [1, 0, 2],
  ];
  test.each([
    ['official', 'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,0,2\no,a,g,timer,0,7,3\n', 1],
    [
      'a slice of the day',
      'HashOwner,HashApp,HashFunction,Trigger,480,481,482\no,a,f,x,1,0,2\no,a,g,x,0,7,3\n',
      480,
    ],
    ['minute_1', 'HashFunction,HashApp,HashOwner,minute_1,minute_2,minute_3\nf,a,o,1,0,2\ng,a,o,0,7,3\n', 1],
    ['1_minute', 'HashFunction,HashOwner,HashApp,1_minute,2_minute,3_minute\nf,o,a,1,0,2\ng,o,a,0,7,3\n', 1],
  ])('%s', async (name, text, firstMinute) => {
    const counts = await readAzure2019(DISK_FILES, file(`${name}.csv`, text));
    expect(dense(counts)).toEqual(expected);
    expect([...counts.totals]).toEqual([10, 3]);
    expect(counts.firstMinute).toBe(firstMinute);
    expect(dense(await readAzure2019(DISK_FILES, file(`${name}.csv.gz`, text)))).toEqual(expected);
  });

  test('functions by falling total, equal ones in the order of the file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 2 }), { minLength: 1 }),
        async (rows) => {
          const text = `HashFunction,1,2\n${rows.map((row, i) => `f${i},${row.join(',')}`).join('\n')}\n`;
          const sorted = rows
            .map((row, i) => ({ row, i, total: row[0] + row[1] }))
            .sort((a, b) => b.total - a.total || a.i - b.i);
          const counts = await readAzure2019(DISK_FILES, file('sorted.csv', text));
          expect(dense(counts)).toEqual(sorted.map(({ row }) => row));
        },
      ),
      { numRuns: 30 },
    );
  });

  test('rows over many blocks of the file', async () => {
    const rows = Array.from(
      { length: 20_000 },
      (_, i) => `function-with-a-rather-long-name-${i},${i % 7},1,0`,
    );
    const counts = await readAzure2019(
      DISK_FILES,
      file('long.csv', `HashFunction,1,2,3\n${rows.join('\n')}\n`),
    );
    expect(counts.functions).toBe(20_000);
    expect(counts.totals.reduce((sum, total) => sum + total, 0)).toBe(79_997);
  });
});

describe('what is wrong is said with its place', () => {
  test.each([['text', 'f,1,0\ng,x,0\n', 'E_TRACE_VALUE', /text\.csv:3: 1: "x" is not a count/]])(
    '%s',
    async (name, rows, code, message) => {
      const error = await failure(() =>
        readAzure2019(DISK_FILES, file(`${name}.csv`, `HashFunction,1,2\n${rows}`)),
      );
      expect(error.code).toBe(code);
      expect(error.message).toMatch(message);
    },
  );

  test.each([
    ['unknown header', 'a,b,c\n1,2,3\n', /unknown header "a,b,c"; known are .*HashOwner/],
    ['minutes with a gap', 'HashFunction,1,2,4\nf,1,1,1\n', /found "4" after "2"/],
    ['minutes not last', 'HashFunction,1,2,Trigger\nf,1,1,x\n', /found "Trigger" after "2"/],
  ])('%s', async (name, text, message) => {
    const error = await failure(() => readAzure2019(DISK_FILES, file(`${name}.csv`, text)));
    expect(error.code).toBe('E_TRACE_HEADER');
    expect(error.message).toMatch(message);
  });

  test('missing files, folders, and broken archives', async () => {
    expect((await failure(() => readAzure2019(DISK_FILES, `${folder}/none.csv`))).code).toBe(
      'E_FILE_MISSING',
    );
    expect((await failure(() => readAzure2019(DISK_FILES, `${folder}/none.csv.gz`))).code).toBe(
      'E_FILE_MISSING',
    );
    expect((await failure(() => readAzure2019(DISK_FILES, folder))).code).toBe('E_FILE_MISSING');
    const noArchive = file('no-archive.csv.gz', Buffer.from('HashFunction,1\nf,1\n'));
    expect((await failure(() => readAzure2019(DISK_FILES, noArchive))).code).toBe('E_FILE_TRUNCATED');
    const emptyArchive = file('empty.csv.gz', Buffer.alloc(0));
    expect((await failure(() => readAzure2019(DISK_FILES, emptyArchive))).code).toMatch(
      /E_FILE_TRUNCATED|E_TRACE_HEADER/,
    );
  });
});
