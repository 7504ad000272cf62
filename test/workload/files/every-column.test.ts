import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openWorkload, traceInfo, type WorkloadSpec } from '../../../src/workload/index.js';
import { collect, failure, modelNames, scratch } from '../support.js';

const { file } = scratch();

interface Kind {
  readonly header: string;
  readonly rows: readonly (readonly string[])[];
  readonly spec: WorkloadSpec;
  /** Values of WRONG that are right in a column. */
  readonly takes: Readonly<Record<string, readonly string[]>>;
}

const common = { path: '', scale: 1, speed: 1, assign: 'blocks' } as const;
const NAMES = ['-1', 'NaN', '1e30', '1.5', '0x10', 'text'];
/** In every column of every layout. */
const WRONG = ['', ...NAMES];

const KINDS: Readonly<Record<string, Kind>> = {
  arrivals: {
    header: 'arrival_ns,model_id,slo_ns,length',
    rows: [
      ['0', 'model1', '100', '40'],
      ['5', '0', '200', '7'],
      ['5', 'text', '200', '7'],
    ],
    spec: { kind: 'arrivals', path: '', overrideSlo: false },
    // These models take inputs of one length.
    takes: { model_id: NAMES, length: [''] },
  },
  'azure-2019': {
    header: 'HashOwner,HashApp,HashFunction,Trigger,1,2',
    rows: [
      ['o', 'a', 'f', 'http', '3', '0'],
      ['o', 'a', 'g', 'timer', '0', '9'],
      ['o', 'a', 'h', 'timer', '1', '9'],
    ],
    spec: { kind: 'azure-2019', ...common, intervalNs: 1e9 },
    takes: { HashOwner: WRONG, HashApp: WRONG, HashFunction: WRONG, Trigger: WRONG },
  },
  'azure-2021': {
    header: 'app,func,end_timestamp,duration',
    rows: [
      ['a', 'f', '1.5', '0.5'],
      ['a', 'g', '2', '7.5e-07'],
      ['b', 'f', '3', '0'],
    ],
    spec: { kind: 'azure-2021', ...common },
    takes: { app: NAMES, func: NAMES, end_timestamp: ['1.5'], duration: ['1.5'] },
  },
  'azure-llm': {
    header: 'TIMESTAMP,ContextTokens,GeneratedTokens',
    rows: [
      ['2023-11-16 23:59:59.9799600', '1', '2'],
      ['2023-11-17 00:00:00.0000001', '3', '4'],
      ['2023-11-17T00:00:01.5Z', '0', '6'],
    ],
    spec: { kind: 'azure-llm', ...common, popularity: { kind: 'uniform' } },
    takes: {},
  },
};

function text({ header, rows }: Pick<Kind, 'header' | 'rows'>): string {
  return [header, ...rows.map((row) => row.join(','))].map((line) => `${line}\n`).join('');
}

async function play(spec: WorkloadSpec, path: string) {
  const models = [...modelNames(2), ...NAMES];
  const { source } = await openWorkload({ ...spec, path } as WorkloadSpec, { models, sloNs: 9, seed: 1 });
  return collect(source);
}

/** What both ways to read a file make of it, which must be the same. */
async function verdict(spec: WorkloadSpec, path: string) {
  const info = await failure(() => traceInfo(path));
  const played = await failure(() => play(spec, path));
  expect(played).toEqual(info);
  return info;
}

describe.each(Object.entries(KINDS))('%s', (_, kind) => {
  const columns = kind.header.split(',');

  test.each(columns.flatMap((column, at) => WRONG.map((value) => ({ column, at, value }))))(
    '$column of "$value"',
    async ({ column, at, value }) => {
      const rows = kind.rows.map((row, i) => (i === 1 ? row.with(at, value) : row));
      const { code, message } = await verdict(kind.spec, file('value.csv', text({ ...kind, rows })));
      if (kind.takes[column]?.includes(value)) expect(code).toBe('none');
      else {
        expect(code).toBe('E_TRACE_VALUE');
        expect(message).toContain(`value.csv:3: ${column}: `);
        expect(message).toMatch(value === '' ? /is empty|"" is not/ : value);
      }
    },
  );

  const plain = text(kind);
  test.each([
    ['blanks around fields', plain.replaceAll(',', ' , ').replaceAll('\n', ' \n')],
    ['quotes', plain.replaceAll(/[^,\n]+/g, '"$&"')],
    ['quotes after blanks', plain.replaceAll(/[^,\n]+/g, ' "$&"')],
    ['a byte order mark', `\uFEFF${plain}`],
    ['CRLF', plain.replaceAll('\n', '\r\n')],
    ['quotes and CRLF', plain.replaceAll(/[^,\n]+/g, '"$&"').replaceAll('\n', '\r\n')],
    ['blank lines, no last line end', plain.replaceAll('\n', '\n\n').trimEnd()],
  ])('is read the same with %s', async (name, written) => {
    const [path, other] = [file('plain.csv', plain), file(`${name}.csv`, written)];
    expect(await traceInfo(other)).toEqual(await traceInfo(path));
    expect(await play(kind.spec, other)).toEqual(await play(kind.spec, path));
  });

  test.each([
    ['a field too few', plain.replace(/,[^,\n]*\n$/, '\n'), /:4: has \d fields where the header has \d/],
    ['a field too many', plain.replace(/\n$/, ',1\n'), /:4: has \d fields where the header has \d/],
    ['JSON in a row', `${plain}{"a": 1}\n`, /:5: has 1 fields where/],
    ['an open quote', plain.replace(/\n([^\n]*)\n$/, '\n"$1\n'), /:4: a quote is not closed in its line/],
    ['a header only', `${kind.header}\n`, /: has a header and no rows/],
    ['a header and blank lines', `${kind.header}\n\n \n`, /: has a header and no rows/],
    ['another header', plain.replace(kind.header, 'foo,bar'), /:1: unknown header "foo,/],
  ])('%s is refused', async (_, written, message) => {
    expect((await verdict(kind.spec, file('bad.csv', written))).message).toMatch(message);
  });

  test.each([
    ['gzip', gzipSync(plain), /bad\.csv:1: is not a table as UTF-8 text: .* ends in \.gz/],
    ['zip', Buffer.from(`PK\x03\x04${plain}`), /is not a table/],
    ['Parquet', Buffer.from(`PAR1\0\n${plain}`), /Parquet .* import trace/],
    ['UTF-16', Buffer.from(`\uFEFF${plain}`, 'utf16le'), /UTF-8/],
    ['JSON', Buffer.from('{"a": [1]}\n'), /JSON/],
    ['other bytes', Buffer.from(`${plain}\0\n`), /is not a table/],
  ])('what is %s is not read as a table', async (_, bytes, message) => {
    const error = await verdict(kind.spec, file('bad.csv', bytes));
    expect(error.code).toBe('E_TRACE_HEADER');
    expect(error.message).toMatch(message);
  });
});

describe('what only one layout can have wrong', () => {
  test.each(['2023-02-29 00:00:00', '2023-13-01 00:00:00', '2023-04-31 00:00:00', '2023-01-01 25:00:00'])(
    'a time that no calendar has: %s',
    async (time) => {
      const { header, rows, spec } = KINDS['azure-llm']!;
      const path = file('calendar.csv', text({ header, rows: [[time, '1', '1'], ...rows] }));
      expect((await verdict(spec, path)).message).toMatch(/calendar\.csv:2: TIMESTAMP: .* is not a time/);
    },
  );

  test('rows that are too far apart for whole nanoseconds', async () => {
    const { header, rows, spec } = KINDS['azure-2021']!;
    const path = file('far.csv', text({ header, rows: [['a', 'f', '1700000000', '0'], ...rows] }));
    expect((await verdict(spec, path)).message).toMatch(/far\.csv: more than 104 days lie between/);
  });

  test('nanoseconds since 1970', async () => {
    const path = file('epoch.csv', 'arrival_ns,model_id,slo_ns\n1731690000000000000,0,1\n');
    expect((await verdict(KINDS.arrivals!.spec, path)).message).toMatch(
      /epoch\.csv:2: arrival_ns: 1731690000000000000 is more than 9007199254740991 ns, 104 days/,
    );
  });

  test('arrivals that are not sorted; the other layouts are sorted when they are read', async () => {
    for (const [name, { header, rows, spec }] of Object.entries(KINDS)) {
      const path = file('unsorted.csv', text({ header, rows: rows.toReversed() }));
      expect((await verdict(spec, path)).code).toBe(name === 'arrivals' ? 'E_TRACE_ORDER' : 'none');
    }
  });
});
