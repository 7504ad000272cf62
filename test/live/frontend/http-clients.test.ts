import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../../src/base/units.js';
import { bytesOfTexts } from '../../../src/live/texts.js';
import { echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const TWO = echoModel('two', false, [
  ['a', 'INT8', [2]],
  ['b', 'BOOL', [2]],
]);
const WIDE = echoModel('wide', false, [['x', 'FP32', [20_000]]]);
const X = tensor('x', 'FP32', [1, 4], [1, 2, 3, 4]);
const INFER = '/v2/models/mlp/infer';

function damaged(bytes: Buffer, at: number): Buffer {
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] ^= 0x40;
  return bytes;
}

describe('compressed bodies', () => {
  const body = Buffer.from(JSON.stringify({ inputs: [X] }));

  it.each([
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['GZIP', gzipSync(body)],
    ['X-gZip', gzipSync(body)],
    ['Deflate', deflateSync(body)],
    ['IDENTITY', body],
    ['identity', body],
  ])('of %s are read', async (encoding, sent) => {
    const { http } = await mlp();
    const { status, json } = await http.post(INFER, sent, { 'content-encoding': encoding });
    expect([status, json.outputs[0].data]).toEqual([200, [1, 2, 3, 4]]);
  });

  it('may hold binary tensors, whose place counts decompressed', async () => {
    const { http } = await openHttp(new FakeService([WIDE]));
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [20_000], parameters: { binary_data_size: 80_000 } }],
    });
    const data = Float32Array.from({ length: 20_000 }, (_, i) => i);
    const whole = Buffer.concat([Buffer.from(json), new Uint8Array(data.buffer)]);
    for (const [encoding, sent] of [
      ['gzip', gzipSync(whole)],
      ['deflate', deflateSync(whole)],
    ] as const) {
      const headers = {
        'content-encoding': encoding,
        'inference-header-content-length': String(json.length),
      };
      const answer = await http.post('/v2/models/wide/infer', sent, headers);
      expect([answer.status, answer.json.outputs[0].data.at(-1)]).toEqual([200, 19_999]);
    }
  });

  it.each([
    ['that are not', 'gzip', body],
    ['that end early', 'gzip', gzipSync(body).subarray(0, -9)],
    ['with a wrong checksum', 'gzip', damaged(gzipSync(body), -8)],
    ['with a wrong size', 'gzip', damaged(gzipSync(body), -1)],
    ['with wrong data', 'gzip', damaged(gzipSync(body), 20)],
    ['that end early', 'deflate', deflateSync(body).subarray(0, -3)],
  ])('%s are the client’s mistake: %s', async (_, encoding, sent) => {
    const { http } = await mlp();
    const { status, json } = await http.post(INFER, sent, { 'content-encoding': encoding });
    expect([status, json.error]).toEqual([
      400,
      expect.stringMatching(`^the body is not valid ${encoding}: `),
    ]);
  });

  it('are refused where they become larger than a body may be', async () => {
    const { http } = await openHttp(new FakeService([MLP]), { maxBodyBytes: MIB });
    const bomb = Buffer.alloc(40 * MIB);
    const lie = gzipSync(bomb);
    lie.writeUInt32LE(100, lie.length - 4);
    for (const [encoding, sent] of [
      ['gzip', gzipSync(bomb)],
      ['gzip', Buffer.concat([gzipSync(bomb), gzipSync('')])],
      ['deflate', deflateSync(bomb)],
      ['gzip', lie],
    ] as const) {
      const { status, json } = await http.post(INFER, sent, { 'content-encoding': encoding });
      expect([status, json.error]).toEqual([
        413,
        expect.stringMatching(/larger than \d+ bytes when decompressed$/),
      ]);
    }
  });
});

describe('compressed answers', () => {
  const ask = (port: number, header: string, body: string) =>
    exchangeRaw(
      port,
      `POST /v2/models/wide/infer HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${header}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  const body = JSON.stringify({ inputs: [tensor('x', 'FP32', [20_000], new Array(20_000).fill(1))] });

  it('are for clients that accept them', async () => {
    const { http, port } = await openHttp(new FakeService([WIDE]));
    for (const [accepted, got] of [
      ['gzip', 'gzip'],
      ['deflate', 'deflate'],
      ['gzip;q=0, deflate;q=0.5', 'deflate'],
      ['br, gzip;q=1.0', 'gzip'],
      ['GZip', 'gzip'],
      ['X-GZIP', 'gzip'],
      ['DEFLATE ; Q=0.001', 'deflate'],
      ['deflate, gzip', 'gzip'],
      [' , ,gzip', 'gzip'],
    ] as const) {
      const answer = await ask(port, `accept-encoding: ${accepted}`, body);
      expect(answer).toContain(`content-encoding: ${got}\r\n`);
      // fetch decompresses by itself.
      const { json } = await http.post('/v2/models/wide/infer', body, { 'accept-encoding': accepted });
      expect(json.outputs[0].data).toEqual(new Array(20_000).fill(1));
    }
    for (const accepted of [
      'identity',
      'gzip;q=0',
      'br',
      '',
      'gzip;q=0.000, deflate;q=0.',
      'gzip;q=2',
      'gzippo',
    ])
      expect(await ask(port, `accept-encoding: ${accepted}`, body)).not.toContain('content-encoding');
  });
});

describe('a body without JSON', () => {
  const RAW = { 'inference-header-content-length': '0' };

  it.each([
    [
      ['a', 'b'],
      [1, 2],
    ],
    [
      ['not quite short', 'and another of many characters'],
      [1, 2],
    ],
    [
      ['', '', 'three', ''],
      [2, 2],
    ],
  ])('says how many texts %j there are', async (texts, shape) => {
    const service = new FakeService([echoModel('texts', false, [['x', 'BYTES', [-1, 2]]])]);
    const { http } = await openHttp(service);
    const { status } = await http.post('/v2/models/texts/infer', Buffer.from(bytesOfTexts(texts)), RAW);
    expect(status).toBe(200);
    expect(service.requests[0].shapes).toEqual([shape]);
  });

  it('must be whole texts', async () => {
    const { http } = await openHttp(new FakeService([echoModel('texts', false, [['x', 'BYTES', [-1, 2]]])]));
    const ask = (body: Uint8Array) => http.post('/v2/models/texts/infer', Buffer.from(body), RAW);
    expect(await ask(bytesOfTexts(['a', 'b', 'c']))).toMatchObject({
      status: 400,
      json: { error: 'input "x": 5 bytes are left after 2 elements' },
    });
    expect(await ask(bytesOfTexts(['a', 'b']).subarray(0, 8))).toMatchObject({
      status: 400,
      json: { error: 'input "x": expected 2 elements, got 1' },
    });
  });
});

describe('classification', () => {
  const inputs = [tensor('x', 'FP32', [2, 4], [0.5, -1, 3, 0.5, 9, 7, Number.MIN_VALUE, 8])];
  const wanted = (classification: number, more = {}) => [
    { name: 'out-x', parameters: { classification, ...more } },
  ];

  it('names the largest elements of each row', async () => {
    const { http } = await mlp();
    const { json } = await http.post(INFER, { inputs, outputs: wanted(3) });
    expect(json.outputs).toEqual([
      tensor('out-x', 'BYTES', [2, 3], ['3:2', '0.5:0', '0.5:3', '9:0', '8:3', '7:1']),
    ]);
  });

  it('adds labels, and names no more elements than there are', async () => {
    const labels = [['zero', 'one', 'two', 'three']];
    const { http } = await openHttp(new FakeService([{ ...MLP, labels }]));
    const { json } = await http.post(INFER, { inputs: [X], outputs: wanted(40) });
    expect(json.outputs[0]).toEqual(
      tensor('out-x', 'BYTES', [1, 4], ['4:3:three', '3:2:two', '2:1:one', '1:0:zero']),
    );
  });
});

describe('methods', () => {
  it('OPTIONS says what a path allows, without a token', async () => {
    const { http } = await openHttp(new FakeService([MLP]), { token: 's3cret' });
    const allowed = async (path: string) => {
      const { status, headers } = await http.send('OPTIONS', path, undefined, {});
      return [status, headers.get('allow'), headers.get('access-control-allow-methods')];
    };
    expect(await allowed('/v2/models/mlp/infer')).toEqual([204, 'POST, OPTIONS', null]);
    // Whether there is such a model is not for clients without the token.
    expect(await allowed('/v2/models/other')).toEqual([204, 'GET, HEAD, OPTIONS', null]);
    expect(await allowed('/v2/models/other/versions/3/config')).toEqual([204, 'GET, HEAD, OPTIONS', null]);
    expect(await allowed('/v2/repository/models/other/load')).toEqual([204, 'POST, OPTIONS', null]);
  });

  it.each([
    ...['/', '/v3', '/v2/modelz', '/v2/models/m/explain', '/v2/models/m/infer/more', '/v2/health'],
    ...['/v2/repository', '/v2/repository/models/m/reload', '/nowhere/infer'],
  ])('OPTIONS of %s is 404, also for web pages', async (path) => {
    const page = { origin: 'https://page.example', 'access-control-request-method': 'POST' };
    const { http } = await openHttp(new FakeService([MLP]), { cors: '*' });
    expect(await http.send('OPTIONS', path, undefined, page)).toMatchObject({ status: 404 });
  });
});

describe('web pages', () => {
  const page = { origin: 'https://page.example' };
  const other = { origin: 'https://other.example' };

  it('are refused by default', async () => {
    const service = new FakeService([MLP]);
    const { http } = await openHttp(service);
    const plain = { ...page, 'content-type': 'text/plain' };
    for (const path of [INFER, '/v2/repository/models/mlp/unload'])
      expect(await http.post(path, '{}', plain)).toMatchObject({
        status: 403,
        json: { error: 'web pages of "https://page.example" may not use this server: --cors allows origins' },
      });
    expect(service.state.entries[0].state).toBe('ready');
    const { headers } = await http.get('/v2/models/mlp', page);
    expect(headers.get('access-control-allow-origin')).toBe(null);
  });

  it('that made their name point here are, too; clients that show a token are not', async () => {
    const open = await mlp();
    const own = { origin: `http://127.0.0.1:${open.port}` };
    expect((await open.http.post(INFER, { inputs: [X] }, own)).status).toBe(403);
    const { http } = await openHttp(new FakeService([MLP]), { token: 't' });
    const headers = { ...page, authorization: 'Bearer t' };
    expect((await http.post(INFER, { inputs: [X] }, headers)).status).toBe(200);
  });

  it('may be let in', async () => {
    const { http } = await openHttp(new FakeService([MLP]), { cors: 'https://page.example' });
    const preflight = await http.send('OPTIONS', INFER, undefined, {
      ...page,
      'access-control-request-method': 'POST',
    });
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': 'https://page.example',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers': expect.stringContaining('inference-header-content-length'),
      vary: 'origin',
    });
    const { status, headers } = await http.post(INFER, { inputs: [X] }, page);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, page.origin]);
    const refused = await http.post(INFER, { inputs: [X] }, other);
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

describe('targets', () => {
  it('list the models, and what has happened to them', async () => {
    const service = new FakeService([MLP, TWO]);
    const none = { count: 0, ns: 0 };
    service.statistics = async () =>
      ['mlp', 'two'].map((name) => ({
        name,
        version: '1',
        lastInferenceMs: 7,
        inferenceCount: 3,
        executionCount: 2,
        success: { count: 3, ns: 4 },
        ...{ fail: none, queue: none, computeInput: none, computeInfer: none, computeOutput: none },
        batches: [
          { batchSize: 2, computeInput: none, computeInfer: { count: 1, ns: 9 }, computeOutput: none },
        ],
      }));
    const { http } = await openHttp(service);
    expect((await http.get('/v2/models')).json).toEqual({ models: ['mlp', 'two'] });
    const { json } = await http.get('/v2/models/two/stats');
    expect(json.model_stats).toHaveLength(1);
    expect(json.model_stats[0]).toMatchObject({
      ...{ name: 'two', version: '1', last_inference: 7, inference_count: 3, execution_count: 2 },
      inference_stats: { success: { count: 3, ns: 4 }, fail: none, compute_infer: none },
      batch_stats: [{ batch_size: 2, compute_infer: { count: 1, ns: 9 } }],
    });
    for (const path of ['/v2/models/stats', '/v2/models/two/versions/1/stats'])
      expect((await http.get(path)).status).toBe(200);
    expect((await http.get('/v2/models/stats')).json.model_stats).toHaveLength(2);
    expect((await http.get('/v2/models/other/stats')).status).toBe(404);
  });
});

describe('a trace', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  it('goes to the service and comes back', async () => {
    const { http, service } = await mlp();
    const { headers } = await http.post(INFER, { inputs: [X] }, { traceparent });
    expect(headers.get('traceparent')).toBe(traceparent);
    expect(service.requests[0].trace).toBe(traceparent);
  });

  it.each([
    '00-x',
    traceparent.replace('00', 'ff'),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
  ])('is left out where it is none: %s', async (none) => {
    const { http, service } = await mlp();
    const { status, headers } = await http.post(INFER, { inputs: [X] }, { traceparent: none });
    expect([status, headers.get('traceparent')]).toEqual([200, null]);
    expect(service.requests[0].trace).toBe(null);
  });
});

describe('a server that another leaves the workers to', () => {
  it('takes over before the first inference', async () => {
    const { http, service } = await mlp();
    service.yielded();
    expect((await http.get('/v2/health/ready')).status).toBe(200);
    expect((await http.get('/v2/models/unknown')).status).toBe(503);
    expect(service.takeovers).toBe(0);
    expect((await http.post(INFER, { inputs: [X] })).status).toBe(200);
    expect(service.takeovers).toBe(1);
  });
});

async function mlp() {
  const service = new FakeService([MLP]);
  return { service, ...(await openHttp(service)) };
}
