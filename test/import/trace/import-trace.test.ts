import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { DISK_FILES } from '../../../src/base/files/disk-files.js';
import { type ImportOptions, importTrace } from '../../../src/import/trace/import-trace.js';
import { timeFormatOf } from '../../../src/import/trace/read-time.js';
import { scratch } from '../../workload/support.js';

const { file } = scratch();
let outputs = 0;

/** Result of an import, and the rows of its first file. */
async function imported(path: string, options: Partial<ImportOptions> = {}) {
  const out = file(`out-${outputs++}.csv`, '');
  const all = { slo: 50_000_000, maxBad: 0.05, seed: 1, ...options };
  const trace = await importTrace(DISK_FILES, [path], out, all);
  return { ...trace, rows: rowsOf(trace.written[0]!.path) };
}

function rowsOf(path: string): string[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(1);
}

const CLF =
  '10.0.0.7 - - [12/Oct/2026:08:00:01 +0200] "POST /v2/models/a/infer HTTP/1.1" 200 4312 "-" "app/1.0"';

/** A request of a random log. */
interface Request {
  readonly ms: number;
  readonly model: string;
  readonly length: number;
}

const EPOCH_MS = Date.UTC(2026, 9, 12, 6);
const isoOf = ({ ms }: Request) => new Date(EPOCH_MS + ms).toISOString();
const logTime = (request: Request) => {
  const [, day, time, fraction] = /-(\d\d)T([\d:]+)\.(\d+)Z/.exec(isoOf(request))!;
  return `${day}/Oct/2026:${time}.${fraction}`;
};

/** Ways to write the same requests. */
const WRITERS: Readonly<Record<string, (requests: readonly Request[]) => string | Uint8Array>> = {
  'iso.csv': (all) =>
    `model,when\n${all.map((each) => `${each.model},${isoOf(each)}\n`).join('')}`.replace(
      'when',
      'timestamp',
    ),
  'quoted.csv': (all) =>
    `"timestamp" , "model"\n${all.map((each) => `"${isoOf(each)}", "${each.model}"\n`).join('')}`,
  'zone.tsv': (all) =>
    `time\tmodel\n${all.map((each) => `${isoOf({ ...each, ms: each.ms + 7_200_000 }).replace('Z', '+02:00')}\t${each.model}\n`).join('')}`,
  'epoch.csv': (all) =>
    `ts;model\r\n${all.map((each) => `${(EPOCH_MS + each.ms) / 1000};${each.model}\r\n`).join('')}`,
  'lines.jsonl': (all) =>
    all
      .map((each) => `${JSON.stringify({ '@timestamp': EPOCH_MS + each.ms, model: each.model })}\n`)
      .join(''),
  'list.json': (all) =>
    JSON.stringify(
      all.map((each) => ({ time: isoOf(each), model: each.model })),
      null,
      2,
    ),
  'envoy.log': (all) =>
    all
      .map(
        (each) => `[${isoOf(each)}] "POST /v2/models/${each.model}/infer HTTP/2" 200 - 0 24 10 9 "-" "app"\n`,
      )
      .join(''),
  'haproxy.log': (all) =>
    all
      .map(
        (each) =>
          `Oct 12 08:00:01 lb haproxy[9]: 10.0.1.2:33 [${logTime(each)}] in~ w/w1 10/0/30/69/109 200 27 - - ---- 1/1/1/1/0 0/0 {x} "POST /v1/models/${each.model}:predict HTTP/1.1"\n`,
      )
      .join(''),
  'triton.json': (all) =>
    JSON.stringify(
      all.flatMap(({ ms, model }, id) => [
        { id, model_name: model, model_version: 1 },
        { id, timestamps: [{ name: 'REQUEST_START', ns: 5e12 + ms * 1e6 }] },
      ]),
    ),
  'packed.csv.gz': (all) =>
    gzipSync(`time,model\n${all.map((each) => `${isoOf(each)},${each.model}\n`).join('')}`),
  'table.parquet': (all) =>
    new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          { name: 'timestamp', data: all.map((each) => new Date(EPOCH_MS + each.ms)), type: 'TIMESTAMP' },
          { name: 'model', data: all.map(({ model }) => model), type: 'STRING' },
        ],
      }),
    ),
};

describe('a log in any format', () => {
  const request = fc.record({
    // Never a log of whole seconds only, which is spread.
    ms: fc.integer({ min: 0, max: 10_000 }).map((ms) => 2 * ms + 1),
    model: fc.constantFrom('a', 'bert-base', 'res.net_50'),
    length: fc.integer({ min: 1, max: 500 }),
  });
  it.each(Object.keys(WRITERS))('is a list of arrivals: %s', async (name) => {
    const property = fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 40 }),
      async (requests) => {
        const path = file(name, '');
        writeFileSync(path, WRITERS[name]!(requests));
        const { rows, arrivals } = await imported(path);
        const sorted = requests.map((each, i) => ({ ...each, i })).sort((a, b) => a.ms - b.ms || a.i - b.i);
        expect(rows).toEqual(
          sorted.map(({ ms, model }) => `${(ms - sorted[0]!.ms) * 1e6},${model},50000000`),
        );
        expect(arrivals).toBe(requests.length);
      },
    );
    await fc.assert(property, { numRuns: 20, seed: 7 });
  });
});

describe('an access log', () => {
  it('counts calls of models only, and takes the duration from the time of the answer', async () => {
    const other = CLF.replace('POST /v2/models/a/infer', 'GET /v2/health/ready');
    const lines = [
      `${CLF} 0.250`,
      other,
      `${CLF.replace('/a/', '/b/versions/2/')} 1.250`,
      CLF.replace('/a/', '/c/'),
    ];
    const { rows, dropped, notes, lines: read } = await imported(file('access.log', `${lines.join('\n')}\n`));
    expect(dropped).toEqual([{ why: 'no call of a model', count: 1, file: expect.any(String), line: 2 }]);
    expect([read, rows.map((row) => row.split(',')[1]).sort()]).toEqual([4, ['a', 'b', 'c']]);
    expect(notes).toContain('recognized as nginx');
    expect(notes.join()).toContain('times are whole seconds');
    // Within the second of the log, minus the duration.
    const [b, a] = [rows.find((row) => row.includes(',b,'))!, rows.find((row) => row.includes(',a,'))!];
    const gapNs = Number(a.split(',')[0]) - Number(b.split(',')[0]);
    expect(gapNs).toBeGreaterThan(0);
    expect(gapNs).toBeLessThan(2e9);
  });

  it.each([
    ['"203.0.113.7"', 0],
    ['"203.0.113.7" 0.250', 0.25],
    ['"-" rt=1.500 uct="0.001" urt="0.021"', 1.5],
    ['upstream=0.021 request_time=0.125', 0.125],
  ])('takes no other field for the duration: %s', async (fields, seconds) => {
    const last = CLF.replace(':01 ', ':09 ');
    const path = file('fields.log', `${CLF} ${fields}\n${last} 0.000\n`);
    const { spanNs } = await imported(path);
    // Both lie anywhere within their second.
    expect(Math.abs(spanNs / 1e9 - 8 - seconds)).toBeLessThan(1);
  });

  it('spreads whole seconds over their second, the same with the same seed', async () => {
    const lines = Array.from({ length: 2000 }, (_, i) =>
      CLF.replace(':01 ', `:${String(10 + (i % 4)).padStart(2, '0')} `),
    );
    const path = file('whole.log', lines.join('\n'));
    const [one, two, other] = [await imported(path), await imported(path), await imported(path, { seed: 2 })];
    expect(one.rows).toEqual(two.rows);
    expect(one.rows).not.toEqual(other.rows);
    const perSecond = [0, 0, 0, 0, 0];
    for (const row of one.rows) perSecond[Math.floor(Number(row.split(',')[0]) / 1e9)]!++;
    // 500 in each, but for those before the first request of the first second.
    for (const count of perSecond.slice(0, 4)) expect(Math.abs(count - 500)).toBeLessThan(15);
  });
});

describe('what a log has besides', () => {
  it('keeps lengths and SLOs, and writes a file for each class and tenant', async () => {
    const rows = '0.5,a,gold,x,10,7\n0.75,a,,y,20,\n1.25,b,gold,x,30,9\n';
    const path = file('rich.csv', `arrived_at,model,class,tenant,slo_ms,length\n${rows}`);
    const { written, notes } = await imported(path, { slo: 'slo_ms' });
    expect(written.map(({ path: _, ...each }) => each)).toEqual([
      { arrivals: 2, class: 'gold', tenant: 'x' },
      { arrivals: 1, tenant: 'y' },
    ]);
    expect(rowsOf(written[0]!.path)).toEqual(['0,a,10000000,7', '750000000,b,30000000,9']);
    // All files count from the first request of all.
    expect(rowsOf(written[1]!.path)).toEqual(['250000000,a,20000000']);
    expect(notes).toContain('times were read as seconds; if they are not, give --time-format');
  });

  it('gives every class and tenant a file of its own, whatever they are called', async () => {
    const names = ['a/b', 'a b', 'a_b', '', '../x', 'é'];
    const rows = names.map((name, i) => `${i}.5,m,${name}\n`).join('');
    const { written } = await imported(file('names.csv', `time,model,tenant\n${rows}`), { timeFormat: 's' });
    expect(written.map(({ tenant }) => tenant ?? '')).toEqual(names);
    expect(new Set(written.map(({ path }) => path)).size).toBe(names.length);
    for (const { path } of written) expect(rowsOf(path)).toHaveLength(1);
  });

  it('finds fields that the first lines lack, and no document in events with data', async () => {
    const event = { time: '2026-10-12T06:00:01.5Z', inferenceservicename: 'bert', data: { result: 1 } };
    const lines = [event, { ...event, tenant: 'x', time: '2026-10-12T06:00:02.25Z' }];
    const { written, notes } = await imported(
      file('events.jsonl', lines.map((each) => `${JSON.stringify(each)}\n`).join('')),
      {
        tenant: 'tenant',
      },
    );
    expect(written.map(({ arrivals, tenant }) => [arrivals, tenant])).toEqual([
      [1, undefined],
      [1, 'x'],
    ]);
    expect(notes).toContain('recognized as kserve');
  });

  it.each([
    CLF.replace('10.0.0.7', '10.0.0.2, 10.0.0.1'),
    CLF.replace('10.0.0.7', '"10.0.0.2, 10.0.0.1" 10.0.0.7'),
    CLF.replace('10.0.0.7', 'shop.example.com 10.0.0.7'),
    'Jun 22 12:02:53 n haproxy[2]: -:4 [12/Oct/2026:08:00:01.473] in~ app/n2 app.domain.com 0/0/1/17/18 302 291 - - ---- 1/1/0/0/0 0/0 "POST /v2/models/a/infer HTTP/1.1" 0/0/0/0/1 x/TLSv1.3/Y',
    'haproxy[7]: 1.2.3.4:38 [12/Oct/2026:08:00:01.473] in~ be/<NOSRV> 0/-1/-1/-1/0 503 213 - - SC-- 1/1/0/0/0 0/0 {x||} {|} "POST /v2/models/a/infer HTTP/1.1"',
  ])('reads a line as servers in the wild write it: %s', async (line) => {
    const scan = line.replace(/"POST.*1.1"/, '""');
    const { models, dropped } = await imported(file('wild.log', `${line}\n${scan}\n`));
    expect(models).toEqual([{ name: 'a', requests: 1 }]);
    expect(dropped).toMatchObject([{ why: 'no call of a model', line: 2 }]);
  });

  it.each([
    ['of any name', undefined],
    ['inside an object', undefined],
    ['of other calls', 'predict/(\\w+)'],
  ])('finds models in a field of paths: %s', async (kind, model) => {
    const call = model === undefined ? '/v2/models/a/infer?x=1' : '/predict/a';
    const lines = ['/healthz', call].map((path) => {
      const where = kind === 'inside an object' ? { http: { n: 1 }, url: { path } } : { 'target-uri': path };
      return `${JSON.stringify({ time: '2026-10-12T06:00:01.5Z', level: 'info', ...where })}\n`;
    });
    const { models, dropped } = await imported(file('paths.jsonl', lines.join('')), { model });
    expect(models).toEqual([{ name: 'a', requests: 1 }]);
    expect(dropped).toEqual([expect.objectContaining({ why: 'no call of a model', count: 1 })]);
  });

  it('turns rates of Prometheus into requests, and loses none of slow series', async () => {
    const times = Array.from({ length: 61 }, (_, i) => 1_760_248_800 + 60 * i);
    const series = [
      { metric: { model: 'fast' }, values: times.map((time) => [time, '0.5']) },
      { metric: { model: 'slow' }, values: times.map((time) => [time, '0.01']) },
    ];
    const path = file(
      'rates.json',
      JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: series } }),
    );
    const { models } = await imported(path);
    expect(models).toEqual([
      { name: 'fast', requests: 30 * 61 },
      { name: 'slow', requests: Math.floor(0.6 * 61) },
    ]);
  });
});

describe('times by a pattern', () => {
  const table = (...times: string[]) => `model;when\n${times.map((time) => `m;${time}\n`).join('')}`;

  it.each([
    ['MM/dd/yyyy h:mm:ss a', '11/24/2026 11:59:59 AM', '11/24/2026 1:00:00 PM'],
    ["yyyyMMdd'T'HHmmss.SSS ZZZ", '20261124T130000.000 +0100', '20261124T130001.000 +0000'],
    ['d. MMMM yyyy HH:mm:ss z', '24. November 2026 13:00:00 Europe/Berlin', '24. November 2026 13:00:01 UTC'],
  ])('are read: %s', async (pattern, first, second) => {
    const path = file('pattern.csv', table(first, second));
    const options = { time: 'when', timeFormat: timeFormatOf(pattern), maxBad: 0 };
    const { spanNs, notes } = await imported(path, options);
    expect(Math.round(spanNs / 1e9)).toBeCloseTo(3601, -1);
    expect(notes.includes('times without a zone were read as UTC')).toBe(!/z/i.test(pattern));
  });

  it('must be days that there are, in the order that the pattern says', async () => {
    const options = { time: 'when', timeFormat: timeFormatOf('MM/dd/yyyy'), maxBad: 0.9 };
    const trace = await imported(file('days.csv', table('11/24/2026', '24/11/2026', '02/30/2026')), options);
    expect(trace.dropped).toEqual([expect.objectContaining({ count: 2, line: 3 })]);
    expect(() => timeFormatOf('HH:mm:ss')).toThrow('year, month and day');
  });
});

describe('spans of OpenTelemetry', () => {
  const attribute = (key: string, value: object) => ({ key, value });
  const span = (name: string, ns: string, attributes: object[]) => ({
    ...{ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', name, kind: 2 },
    ...{ startTimeUnixNano: ns, endTimeUnixNano: `${BigInt(ns) + 5_000_000n}`, attributes },
  });
  const line = (spans: object[], service = 'ranker') => ({
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', { stringValue: service })] },
        scopeSpans: [{ scope: { name: 'x' }, spans }],
      },
    ],
  });
  const request = (ns: string, model: string, slo = 20) =>
    span('infer', ns, [
      attribute('escapement.model', { stringValue: model }),
      attribute('escapement.slo_ms', { doubleValue: slo }),
      attribute('escapement.length', { intValue: '64' }),
    ]);
  const lines = [
    line([span('GET /health', '1760000000000000000', [])]),
    line([request('1760000000250000000', 'a'), span('queue', '1760000000250000001', [])]),
    line([request('1760000000000000001', 'b', 0.5)]),
  ];
  it.each([
    ['a line for each call of the collector', lines.map((each) => `${JSON.stringify(each)}\n`).join('')],
    [
      'one document',
      JSON.stringify(line(lines.flatMap((each) => each.resourceSpans[0]!.scopeSpans[0]!.spans)), null, 2),
    ],
  ])('have models, SLOs and lengths, in %s', async (_, text) => {
    const trace = await imported(file('spans.json', text), { slo: undefined });
    expect(trace.rows).toEqual(['0,b,500000,64', '249999999,a,20000000,64']);
    expect(trace.notes).toContain('recognized as otlp');
    // Parts of requests are no losses, and the order of spans is none of requests.
    expect(trace).toMatchObject({ dropped: [], lines: 2, assumed: [] });
    expect(trace.notes).toContain('spans within requests, or of something else: 2');
  });
});

describe('a log with mistakes', () => {
  it('is recognized although its first line is broken', async () => {
    const { rows, dropped } = await imported(file('first.log', `garbage\n${`${CLF}\n`.repeat(30)}`));
    expect([rows.length, dropped]).toMatchObject([
      30,
      [{ why: 'another layout than the other lines', line: 1 }],
    ]);
  });

  it('leaves out unreadable lines up to a share, and names the first of each kind', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `1760248800.${String(i).padStart(2, '0')},a`);
    lines[10] = 'yesterday,a';
    lines[20] = '1760248800.5';
    lines[30] = '1760248800.5,"a';
    const path = file('bad.csv', `time,model\n${lines.join('\n')}\n`);
    const { dropped, arrivals } = await imported(path);
    expect(arrivals).toBe(97);
    expect(dropped.map(({ why, line }) => [line, why])).toEqual([
      [12, 'no valid time in field time: "yesterday"'],
      [22, '1 fields where the header has 2'],
      [32, 'a quote is not closed in its line, or text follows it'],
    ]);
    const out = file('none.csv', '');
    const options = { slo: 1, maxBad: 0.02, seed: 1 };
    await expect(importTrace(DISK_FILES, [path], `${out}.gz`, options)).rejects.toMatchObject({
      code: 'E_TRACE_VALUE',
      what:
        '3 of 100 lines cannot be read, more than --max-bad allows; the first: no valid time in field time: "yesterday"; ' +
        'times are ISO 8601, 12/Oct/2026:08:00:01 +0200, or numbers (--time-format: their unit, or a pattern of texts); --time names another field',
      place: { file: path, line: 12 },
    });
    expect(() => readFileSync(`${out}.gz`)).toThrow('ENOENT');
  });

  it.each([
    ['time,model\n', 'has no request'],
    ['', 'is empty'],
    ['when,model\n1,a\n', 'has no known field of times: name it with --time; it has when, model'],
    ['time,what\n1,a\n', 'has no known field of models: name it with --model; it has time, what'],
    ['a,b\0c\n', 'is not text, nor Parquet'],
    ['just words\n', 'is neither a table nor a log of nginx, envoy, haproxy'],
    ['[1, 2', 'is not JSON: '],
    ['{\n"data": {"what": [{"x": 1}]}}', 'is JSON of an unknown kind'],
    [
      '{"data": {"result": [{"metric": 1, "values": [5, ["x", 2], [1, "+Inf"]]}, 7]}}',
      'has no known field of',
    ],
    [
      '[{"id": 1, "timestamps": 5}, {"id": 2, "timestamps": [3, null]}]',
      'no valid time in field ns (missing)',
    ],
    ['HashFunction,1,2\nf,0,1\n', 'which experiments read as it is'],
    ['time,model\n2001-02-30T00:00:00Z,a\n', '1 of 1 lines cannot be read'],
    ['time,model\n1760248800.5,a\n1960248800.5,a\n', '1 of 2 lines are more than 104 days before the last'],
  ])('refuses %j', async (text, what) => {
    await expect(imported(file('wrong.csv', text))).rejects.toThrow(what);
  });
});
