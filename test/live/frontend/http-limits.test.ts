import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIB } from '../../../src/base/units.js';
import type { ApiError } from '../../../src/live/frontend/api-error.js';
import { CODEC_THREADS, Codec } from '../../../src/live/frontend/http-body.js';
import { defaultLimits, newBudgetCounters } from '../../../src/live/frontend/limits.js';
import { echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const WIDE = echoModel('wide', false, [['x', 'FP32', [65_536]]]);
const X = tensor('x', 'FP32', [1, 4], [1, 2, 3, 4]);

describe('the limit of JSON', () => {
  it('is separate from that of the body', async () => {
    const body = JSON.stringify({ inputs: [X] });
    const limits = { maxBodyBytes: 10_000, maxJsonBytes: body.length };
    const { http } = await openHttp(new FakeService([MLP]), limits);
    expect((await http.post('/v2/models/mlp/infer', body)).status).toBe(200);
    expect(await http.post('/v2/models/mlp/infer', `${body} `)).toMatchObject({
      status: 413,
      json: { error: `the body is larger than ${body.length} bytes: send large tensors as binary data` },
    });
  });

  it('counts only the JSON of a body with binary tensors', async () => {
    const head = JSON.stringify({
      inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }],
    });
    const { http } = await openHttp(new FakeService([MLP]), { maxJsonBytes: head.length });
    const headers = { 'inference-header-content-length': String(head.length) };
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(16)]);
    expect((await http.post('/v2/models/mlp/infer', body, headers)).status).toBe(200);
  });

  it.each([
    ['levels', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['levels of objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
  ])('is all that there is for %s, which are refused where they are not expected', async (_, value) => {
    const { http } = await openHttp(new FakeService([MLP]));
    for (const [id, inputs] of [
      [value, '[]'],
      ['""', `[{"name":"x","datatype":"FP32","shape":${value},"data":[]}]`],
      ['""', `[{"name":"x","datatype":"FP32","shape":[1,4],"data":${value}}]`],
    ]) {
      const answer = await http.post('/v2/models/mlp/infer', `{"id":${id},"inputs":${inputs}}`);
      expect(answer.status).toBe(400);
    }
  });
});

describe('large JSON', () => {
  const data = Array.from({ length: 65_536 }, (_, i) => Math.fround(i / 7));
  const body = JSON.stringify({ id: 'ä', inputs: [tensor('x', 'FP32', [65_536], data)] });

  it('is read and written in threads, with the same result', async () => {
    const { http } = await openHttp(new FakeService([WIDE]));
    const { status, json } = await http.post('/v2/models/wide/infer', body);
    expect(status).toBe(200);
    expect(json).toEqual({
      id: 'ä',
      model_name: 'wide',
      model_version: '1',
      parameters: { batch_size: 1, slo_met: true },
      outputs: [tensor('out-x', 'FP32', [65_536], data)],
    });
  });

  it('is to be sent again only if others kept its threads busy', async () => {
    const codec = new Codec(1e6, 1);
    onTestFinished(() => codec.close());
    const task = { pieces: [Buffer.from(body)], compression: null, jsonHeader: undefined, model: WIDE };
    const limits = { ...defaultLimits(), defaultSloNs: 1e9, classes: [] };
    const all = Array.from({ length: CODEC_THREADS + 1 }, () =>
      codec.decode({ ...task, limits }).catch(({ kind }: ApiError) => kind),
    );
    expect(await Promise.all(all)).toEqual([...all.slice(1).map(() => 'tooLarge'), 'tooBusy']);
  });
});

describe('memory', () => {
  const counters = newBudgetCounters(1);
  const usedKib = () => new Int32Array(counters)[0];
  const budget = { counters, slot: 0 };

  it('is given back whatever becomes of a request', async () => {
    const service = new FakeService([MLP, WIDE]);
    const { http, port } = await openHttp(service, { budget, maxBodyBytes: 2 * MIB });
    await http.post('/v2/models/mlp/infer', { inputs: [X] });
    await http.post('/v2/models/mlp/infer', '{"inputs":');
    await http.post('/v2/models/mlp/infer', '[1,'.repeat(100_000));
    await http.post('/v2/models/wide/infer', gzipSync(Buffer.alloc(MIB)), { 'content-encoding': 'gzip' });
    await http.post('/v2/models/mlp/infer', Buffer.alloc(3 * MIB)).catch(() => {});
    const gone = await connected(port);
    gone.write(`${head('content-length: 1000000')}${'x'.repeat(500_000)}`);
    await expect.poll(usedKib).toBeGreaterThan(400);
    gone.destroy();
    await expect.poll(usedKib).toBe(0);
  });

  it('is counted for all that a waiting request keeps, not its tensors alone', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { http, port } = await openHttp(service, { budget });
    const json = JSON.stringify({
      inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }],
    });
    const body = Buffer.concat([Buffer.from(json.padEnd(MIB)), Buffer.alloc(16)]);
    const sent = gzipSync(body);
    const lengths = `inference-header-content-length: ${MIB}\r\ncontent-length: ${sent.length}`;
    const socket = await connected(port);
    socket.write(head(`${lengths}\r\ncontent-encoding: gzip`));
    socket.write(sent);
    await expect.poll(() => service.requests.length).toBe(1);
    expect((await http.get('/v2/health/live')).status).toBe(200);
    expect(usedKib()).toBeGreaterThan(1024);
    socket.destroy();
    await expect.poll(usedKib).toBe(0);
  });

  it('is not taken beyond its limit', async () => {
    const service = new FakeService([MLP]);
    const limits = { budget, maxInflightBytes: 2 * MIB, maxBodyBytes: 2 * MIB };
    const { http, port } = await openHttp(service, limits);
    const holding = await Promise.all(Array.from({ length: 4 }, () => connected(port)));
    for (const socket of holding) socket.write(`${head('content-length: 300000')}${'x'.repeat(290_000)}`);
    await expect.poll(usedKib).toBeGreaterThan(800);
    const { status, headers, json } = await http.post('/v2/models/mlp/infer', Buffer.alloc(300_000));
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(json.error).toMatch(/^requests from this address hold as much memory as is allowed/);
    expect((await http.post('/v2/models/mlp/infer', { inputs: [X] })).status).toBe(200);
    for (const socket of holding) socket.destroy();
    await expect.poll(usedKib).toBe(0);
  });

  it('grows with what has come, not with what was announced', async () => {
    const { port } = await openHttp(new FakeService([MLP]), { budget });
    const socket = await connected(port);
    const lengths = 'inference-header-content-length: 100\r\ncontent-length: 60000000';
    socket.write(`${head(lengths)}${'x'.repeat(1000)}`);
    await expect.poll(usedKib).toBeGreaterThan(0);
    expect(usedKib()).toBeLessThanOrEqual(64);
    socket.destroy();
    await expect.poll(usedKib).toBe(0);
  });
});

describe('clients that are too slow', () => {
  it('are cut off when they do not read their answers', async () => {
    const counters = newBudgetCounters(1);
    const big = echoModel('big', false, [['x', 'FP32', [4 * MIB]]]);
    const service = new FakeService([big]);
    const { port } = await openHttp(service, { idleTimeoutMs: 200, budget: { counters, slot: 0 } });
    const socket = await connected(port);
    socket.pause();
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [4 * MIB], parameters: { binary_data_size: 16 * MIB } }],
      parameters: { binary_data_output: true },
    });
    const length = json.length + 16 * MIB;
    socket.write(head(`inference-header-content-length: ${json.length}\r\ncontent-length: ${length}`, 'big'));
    socket.write(json);
    socket.write(Buffer.alloc(16 * MIB));
    await expect.poll(() => service.requests.length).toBe(1);
    await expect.poll(() => new Int32Array(counters)[0]).toBeGreaterThan(0);
    await expect.poll(() => new Int32Array(counters)[0]).toBe(0);
    socket.destroy();
  });
});

describe('a body that is refused early', () => {
  it.each([
    [
      'its size',
      { maxBodyBytes: 1000 },
      /^HTTP\/1\.1 413 .*"the body is larger than 1000 bytes"\}HTTP\/1\.1 200 /s,
    ],
    ['the token', { token: 's3cret' }, /^HTTP\/1\.1 401 .*\}HTTP\/1\.1 200 /s],
  ])('for %s is read and dropped, so that the client sees why, and goes on', async (_, options, answers) => {
    const { port } = await openHttp(new FakeService([MLP]), options);
    const body = Buffer.alloc(8 * MIB);
    const next = 'GET /v2/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const sent = [Buffer.from(head(`content-length: ${body.length}`)), body, Buffer.from(next)];
    expect(await exchangeRaw(port, Buffer.concat(sent))).toMatch(answers);
  });
});

describe('an answer', () => {
  it('of too many bytes is refused before anything runs', async () => {
    const vast = echoModel('vast', true, [['x', 'FP32', [MIB]]]);
    const shrunk = { ...vast, signature: { ...vast.signature, inputs: MLP.signature.inputs } };
    const service = new FakeService([shrunk]);
    const { http } = await openHttp(service);
    const inputs = [tensor('x', 'FP32', [17, 4], new Array(68).fill(0))];
    const binary = { inputs, parameters: { binary_data_output: true } };
    expect(await http.post('/v2/models/vast/infer', binary)).toMatchObject({
      status: 413,
      json: {
        error: expect.stringMatching(/^the answer could have \d+ bytes, of at most \d+: ask for fewer/),
      },
    });
    expect(service.requests).toEqual([]);
  });
});

function head(header: string, model = 'mlp'): string {
  return `POST /v2/models/${model}/infer HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
