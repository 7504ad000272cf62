import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIB } from '../../../src/base/units.js';
import { newApiErrorCounters, readApiErrors } from '../../../src/live/frontend/api-error.js';
import { newBudgetCounters } from '../../../src/live/frontend/limits.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openGrpc, openHttp, tensor } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const MODEL = echoModel('m', true, [['x', 'FP32', [1]]]);
const INFER = '/v2/models/m/infer';
const LIVE = 'GET /v2/health/live HTTP/1.1\r\nhost: a\r\n\r\n';

function batch(count: number) {
  return { inputs: [tensor('x', 'FP32', [count, 1], new Array(count).fill(1))] };
}

function message(count: number) {
  const contents = { fp32_contents: new Array(count).fill(1) };
  return { model_name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [count, 1], contents }] };
}

function counted(counters: SharedArrayBuffer): Record<string, number> {
  const rises = readApiErrors(counters).filter(({ count }) => count > 0);
  return Object.fromEntries(rises.map(({ transport, reason, count }) => [`${transport} ${reason}`, count]));
}

/** A service that answers when the test says so. */
function silentService(): FakeService {
  const service = new FakeService([MODEL]);
  service.answer = null;
  return service;
}

function answerAll(service: FakeService): void {
  for (const request of service.requests.splice(0)) request.done(echo(request));
}

describe('requests of one address under way', () => {
  it('are limited over HTTP and gRPC together, a batch as so many', async () => {
    const service = silentService();
    const apiErrors = newApiErrorCounters();
    const counters = newBudgetCounters(2);
    const common = { apiErrors, maxClientRequests: 10 };
    const { http } = await openHttp(service, { ...common, budget: { counters, slot: 0 } });
    const { port } = await openGrpc(service, { ...common, budget: { counters, slot: 1 } });
    const grpc = new GrpcClient(port);
    onTestFinished(() => grpc.close());
    const first = http.post(INFER, batch(7));
    await expect.poll(() => service.requests.length).toBe(7);

    await expect(grpc.call('ModelInfer', message(4))).rejects.toMatchObject({
      code: 8,
      details: expect.stringContaining('requests from this address under way are at most 10'),
    });
    const second = grpc.call('ModelInfer', message(3));
    await expect.poll(() => service.requests.length).toBe(10);
    const refused = await http.post(INFER, batch(1));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.json.error).toContain('requests from this address under way are at most 10');

    answerAll(service);
    expect((await first).status).toBe(200);
    await second;
    const third = http.post(INFER, batch(10));
    await expect.poll(() => service.requests.length).toBe(10);
    answerAll(service);
    expect((await third).status).toBe(200);
    expect(counted(apiErrors)).toEqual({ 'http over_budget': 1, 'grpc over_budget': 1 });
  });

  it('count until the service answers, although their clients have gone', async () => {
    const service = silentService();
    const { port } = await openGrpc(service, { maxClientRequests: 5 });
    for (let i = 0; i < 5; i++) {
      const grpc = new GrpcClient(port);
      grpc.call('ModelInfer', message(1)).catch(() => {});
      await expect.poll(() => service.requests.length).toBe(i + 1);
      grpc.close();
    }
    const grpc = new GrpcClient(port);
    onTestFinished(() => grpc.close());
    await expect(grpc.call('ModelInfer', message(1))).rejects.toMatchObject({ code: 8 });
    answerAll(service);
    const asked = grpc.call('ModelInfer', message(5));
    await expect.poll(() => service.requests.length).toBe(5);
    answerAll(service);
    await asked;
  });
});

describe('memory', () => {
  it('is taken by answers without tensors, too', async () => {
    const service = new FakeService([MODEL]);
    const none = { count: 0, ns: 0 };
    const times = { computeInput: none, computeInfer: none, computeOutput: none };
    const counts = { lastInferenceMs: 0, inferenceCount: 0, executionCount: 0 };
    service.statistics = async () => [
      {
        ...{ name: 'm'.repeat(2 * MIB), version: '1', batches: [] },
        ...{ ...times, ...counts, success: none, fail: none, queue: none },
      },
    ];
    const limits = { maxInflightBytes: 2 * MIB, maxBodyBytes: MIB };
    const { http } = await openHttp(service, limits);
    expect((await http.get('/v2/models/stats')).status).toBe(503);
    const { port } = await openGrpc(service, limits);
    const grpc = new GrpcClient(port);
    onTestFinished(() => grpc.close());
    await expect(grpc.call('ModelStatistics', {})).rejects.toMatchObject({ code: 8 });
  });

  it('of typed contents counts as decoded, until the answer', async () => {
    const service = new FakeService([echoModel('m', true, [['x', 'INT64', [65_536]]])]);
    service.answer = null;
    const counters = newBudgetCounters(1);
    const { port } = await openGrpc(service, { budget: { counters, slot: 0 } });
    const grpc = new GrpcClient(port);
    onTestFinished(() => grpc.close());
    const contents = { int64_contents: new Array(65_536).fill(1) };
    const inputs = [{ name: 'x', datatype: 'INT64', shape: [1, 65_536], contents }];
    const asked = grpc.call('ModelInfer', { model_name: 'm', inputs });
    await expect.poll(() => service.requests.length).toBe(1);
    expect(new Int32Array(counters)[0]).toBeGreaterThanOrEqual(8 * 64);
    answerAll(service);
    await asked;
    await expect.poll(() => new Int32Array(counters)[0]).toBe(0);
  });
});

describe('connections', () => {
  /** Opens connections that stay, and waits until the server has them. */
  async function hold(port: number, count: number, from: string): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () =>
      connect({ port, host: '127.0.0.1', localAddress: from }),
    );
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(
      sockets.map(async (socket) => {
        socket.write(LIVE);
        await once(socket, 'data');
      }),
    );
    return sockets;
  }

  it('beyond the limit are closed and counted', async () => {
    const service = new FakeService([MODEL]);
    const apiErrors = newApiErrorCounters();
    const counters = newBudgetCounters(2);
    const common = { apiErrors, maxConnections: 4 };
    const { port } = await openHttp(service, { ...common, budget: { counters, slot: 0 } });
    const { port: grpcPort } = await openGrpc(service, { ...common, budget: { counters, slot: 1 } });
    const [first] = await hold(port, 2, '127.0.0.1');

    expect(await exchangeRaw(port, LIVE)).toBe('');
    const session = connectHttp2(`http://127.0.0.1:${grpcPort}`);
    session.on('error', () => {});
    await once(session, 'close');
    expect(counted(apiErrors)).toEqual({ 'http too_many_connections': 1, 'grpc too_many_connections': 1 });

    first.destroy();
    await expect
      .poll(() => exchangeRaw(port, LIVE.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')))
      .toMatch(/^HTTP\/1\.1 200/);
  });

  // Other systems have one loopback address.
  it.runIf(process.platform === 'linux')('of one address leave half of them to others', async () => {
    const { port } = await openHttp(new FakeService([MODEL]), { maxConnections: 4 });
    await hold(port, 2, '127.0.0.2');
    await hold(port, 2, '127.0.0.3');
    expect(await exchangeRaw(port, LIVE)).toBe('');
  });

  it('over TLS count before their handshake, and no longer than they last', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = selfSigned();
    for (const open of [openHttp, openGrpc]) {
      const counters = newBudgetCounters(1);
      const options = { tls, maxConnections: 4, budget: { counters, slot: 0 } };
      const { port } = await open(new FakeService([MODEL]), options);
      const silent = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
      for (const socket of silent) socket.on('error', () => {});
      const CONNECTIONS = 1;
      const connections = () => new Int32Array(counters)[CONNECTIONS];
      await expect.poll(connections).toBe(2);
      const refused = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
      refused.on('error', () => {});
      await new Promise((resolve) => refused.once('close', resolve));
      for (const socket of silent) socket.write('this is no handshake');
      await expect.poll(connections).toBe(0);
      const good = connectTls({
        port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        ALPNProtocols: [open === openHttp ? 'http/1.1' : 'h2'],
      });
      await once(good, 'secureConnect');
      expect(connections()).toBe(1);
      good.destroy();
      await expect.poll(connections).toBe(0);
    }
  });
});
