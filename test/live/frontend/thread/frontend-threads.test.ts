import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KIB, MIB } from '../../../../src/base/units.js';
import { OUTCOME_ERROR } from '../../../../src/core/request.js';
import { newApiErrorCounters, readApiErrors } from '../../../../src/live/frontend/api-error.js';
import type { FrontendOptions } from '../../../../src/live/frontend/frontend.js';
import { newBudgetCounters } from '../../../../src/live/frontend/limits.js';
import { checkThreads, openFrontendThreads } from '../../../../src/live/frontend/thread/frontend-threads.js';
import { ServiceError } from '../../../../src/live/service.js';
import { echo, echoModel, FakeService, failure } from '../fake-service.js';
import { exchangeRaw, HttpClient, tensor } from '../fixtures.js';
import { GrpcClient } from '../grpc-client.js';

const SMALL = echoModel('small', true, [
  ['a', 'FP32', [2]],
  ['b', 'INT8', [3]],
]);
/** 40 kB a request. */
const LARGE = echoModel('large', true, [['x', 'FP32', [10_000]]]);
const FREE = echoModel('free', false, [['x', 'FP32', [-1]]]);

async function serve(options: Partial<FrontendOptions> = {}, transport: 'http' | 'grpc' = 'http') {
  const service = new FakeService([SMALL, LARGE, FREE]);
  const died: string[] = [];
  const turnedAway: string[] = [];
  const frontend = await openFrontendThreads(service, {
    transport,
    threads: 1,
    frontend: { port: 0, defaultSloNs: 1e9, serverVersion: '1.2.3', ...options },
    counters: newBudgetCounters(1),
    firstSlot: 0,
    died: (reason) => died.push(reason),
    turnedAway: (client) => turnedAway.push(client),
  });
  onTestFinished(() => frontend.close(false));
  return { service, frontend, died, turnedAway, http: new HttpClient(frontend.port) };
}

/** A batch for the large model, as binary data. */
function largeBatch(count: number) {
  const values = Buffer.from(Float32Array.from({ length: count * 10_000 }, (_, i) => i).buffer);
  const parameters = { binary_data_size: values.length };
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [count, 10_000], parameters }];
  const json = JSON.stringify({ inputs, parameters: { binary_data_output: true } });
  const headers = { 'inference-header-content-length': String(json.length) };
  const body = Buffer.concat([Buffer.from(json), values]);
  return { values, ask: (http: HttpClient) => http.post('/v2/models/large/infer', body, headers) };
}

describe('a frontend in a thread of its own', () => {
  it('passes small requests and their answers', async () => {
    const { http, service } = await serve();
    const inputs = [
      tensor('a', 'FP32', [2, 2], [1, 2, 3, 4]),
      tensor('b', 'INT8', [2, 3], [1, 2, 3, 4, 5, 6]),
    ];
    const { json } = await http.post('/v2/models/small/infer', { inputs, parameters: { slo_ms: 250 } });
    expect(json.outputs).toMatchObject([
      { name: 'out-a', shape: [2, 2], data: [1, 2, 3, 4] },
      { name: 'out-b', shape: [2, 3], data: [1, 2, 3, 4, 5, 6] },
    ]);
    expect(service.requests.map(({ model, sloNs }) => [model, sloNs])).toEqual([
      [0, 250e6],
      [0, 250e6],
    ]);
    for (const { arrivalNs = Number.NaN } of service.requests) {
      expect(arrivalNs).toBeLessThanOrEqual(service.nowNs());
      expect(arrivalNs).toBeGreaterThan(service.nowNs() - 60e9);
    }
  });

  it('keeps the buffer of a batch until the last of its requests has its answer', async () => {
    const { http, service } = await serve();
    service.infer = (request) => {
      if (service.requests.push(request) < 3) request.done(failure(OUTCOME_ERROR));
    };
    const { values, ask } = largeBatch(3);
    const answered = ask(http);
    await expect.poll(() => service.requests.length).toBe(3);
    // Time to free it.
    await new Promise(setImmediate);
    const [, , last] = service.requests;
    expect(Buffer.from(last.inputs[0])).toEqual(values.subarray(80_000));
    last.done(echo(last));
    expect((await answered).status).toBe(500);
  });

  it('says which clients have too many connections', async () => {
    const apiErrors = newApiErrorCounters();
    const { frontend, turnedAway } = await serve({ maxConnections: 4, apiErrors });
    const sockets = Array.from({ length: 4 }, () => connect(frontend.port, '127.0.0.1'));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    for (const socket of sockets) socket.on('error', () => {});
    await expect.poll(() => turnedAway[0]).toBe('127.0.0.1');
    const counted = readApiErrors(apiErrors).find(({ reason }) => reason === 'too_many_connections');
    expect(counted?.count).toBe(2);
  });

  it('loads and unloads models, and passes why it cannot', async () => {
    const { http, service } = await serve();
    expect((await http.post('/v2/repository/models/small/unload')).status).toBe(200);
    expect(service.state.entries[0].state).toBe('unavailable');
    await expect.poll(async () => (await http.get('/v2/models/small/ready')).status).toBe(503);
    service.load = () => Promise.reject(new ServiceError('needsRestart', 'not now'));
    expect(await http.post('/v2/repository/models/small/load')).toMatchObject({
      status: 409,
      json: { error: 'not now' },
    });
  });

  it('is replaced at the same port when it ends; the process goes on', async () => {
    const { http, frontend, died, service } = await serve();
    service.answer = null;
    const inputs = [tensor('a', 'FP32', [1, 2], [1, 2]), tensor('b', 'INT8', [1, 3], [1, 2, 3])];
    const cut = http.post('/v2/models/small/infer', { inputs }).catch(() => 'cut');
    await expect.poll(() => service.requests.length).toBe(1);
    await frontend.hosts[0].thread?.terminate();
    expect(await cut).toBe('cut');
    const { port } = frontend;
    await expect.poll(() => died.length).toBe(1);
    await expect
      .poll(async () => (await exchangeRaw(port, 'GET /v2/health/live HTTP/1.0\r\n\r\n')).slice(0, 12), {
        timeout: 20_000,
      })
      .toBe('HTTP/1.1 200');
    // Its client is gone.
    service.requests[0].done(echo(service.requests[0]));
  });

  it('says why it cannot listen', async () => {
    const { frontend } = await serve();
    await expect(serve({ port: frontend.port })).rejects.toMatchObject({ code: 'E_LISTEN' });
  });

  it('gives back the memory of each request of a gRPC stream', async () => {
    const limits = { maxInflightBytes: MIB, maxBodyBytes: 128 * KIB };
    const { frontend } = await serve(limits, 'grpc');
    const client = new GrpcClient(frontend.port);
    onTestFinished(() => client.close());
    const request = {
      model_name: 'large',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 10_000] }],
      raw_input_contents: [Buffer.alloc(40_000)],
    };
    const last = await client.stream(...new Array(20).fill(request));
    expect(last.error_message).toBe('');
  });
});

describe('several threads of a transport', () => {
  it('need a Node that lets them share a port', () => {
    const [major] = process.versions.node.split('.').map(Number);
    if (major < 22)
      expect(() => checkThreads(2)).toThrow(/--frontends 2: threads can share a port from Node 22.12/);
    else expect(() => checkThreads(2)).not.toThrow();
    expect(() => checkThreads(1)).not.toThrow();
  });
});
