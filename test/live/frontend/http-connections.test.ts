import { once } from 'node:events';
import { request as send } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../../src/base/units.js';
import { openGrpcFrontend } from '../../../src/live/frontend/grpc-frontend.js';
import { openHttpFrontend } from '../../../src/live/frontend/http-frontend.js';
import { newBudgetCounters } from '../../../src/live/frontend/limits.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });

describe('a body over the limit', () => {
  it.each([
    ['before it was sent', 'connection: close\r\ncontent-length: 1001', ''],
    ['before the client was asked to go on', 'content-length: 1001\r\nexpect: 100-continue', ''],
    [
      'where its length was not given',
      'transfer-encoding: chunked',
      `3e9\r\n${'x'.repeat(1001)}\r\n0\r\n\r\n`,
    ],
  ])('is turned away %s', async (_, header, sent) => {
    const { port } = await openHttp(new FakeService([MLP]), { maxBodyBytes: 1000, idleTimeoutMs: 300 });
    const answer = await exchangeRaw(port, `${head(header)}${sent}`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*\{"error":"the body is larger than 1000 bytes"\}$/s);
  });

  it('leaves room for one that is just as large as allowed, in many pieces', async () => {
    const service = new FakeService([MLP]);
    const { port } = await openHttp(service, { maxBodyBytes: BODY.length });
    const request = send({ port, method: 'POST', path: '/v2/models/mlp/infer' });
    request.setHeader('expect', '100-continue');
    request.flushHeaders();
    await once(request, 'continue');
    for (const character of BODY) request.write(character);
    request.end();
    const [response] = await once(request, 'response');
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(service.requests).toHaveLength(1);
  });
});

describe('a server that closes', () => {
  it('answers what comes within a moment on open connections, and ends them with that', async () => {
    const service = new FakeService([MLP]);
    const options = { port: 0, defaultSloNs: 1e9, serverVersion: '0' };
    const { port, close } = await openHttpFrontend(service, options);
    const idle = connect(port, '127.0.0.1');
    const silent = connect(port, '127.0.0.1');
    const got = { idle: '', silent: '' };
    idle.on('data', (bytes) => {
      got.idle += bytes;
    });
    silent.on('data', (bytes) => {
      got.silent += bytes;
    });
    idle.write('GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(idle, 'data');
    expect(got.idle).toMatch(/connection: keep-alive/i);
    const closed = close(true);
    const infer = `${head(`content-length: ${BODY.length}`)}${BODY}`;
    idle.write(infer);
    silent.write(infer);
    await Promise.all([once(idle, 'close'), once(silent, 'close'), closed]);
    for (const text of [got.idle, got.silent]) {
      expect(text).toMatch(/HTTP\/1\.1 200 OK.*connection: close.*"data":\[1,2,3,4\]/is);
    }
  });
});

describe('clients that misbehave', () => {
  it('are cut off when they never finish their request', async () => {
    const { port, http } = await openHttp(new FakeService([MLP]), {
      headersTimeoutMs: 50,
      requestTimeoutMs: 50,
    });
    const slow = [
      exchangeRaw(port, 'POST /v2/models/mlp/in'),
      exchangeRaw(port, `${head('content-length: 50')}{`),
      exchangeRaw(port, ''),
    ];
    for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    // A busy machine may be too slow for such a limit once, but not for ever.
    await expect.poll(async () => (await http.get('/v2/health/live')).status).toBe(200);
  });

  it('are let go when they leave a connection idle, not while they wait', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { port } = await openHttp(service, { idleTimeoutMs: 200 });
    const waiting = await connected(port);
    waiting.write(`${head(`content-length: ${BODY.length}`)}${BODY}`);
    const idle = await connected(port);
    idle.resume().write('GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(idle, 'close');
    service.requests[0].done(echo(service.requests[0]));
    const [answer] = await once(waiting, 'data');
    expect(`${answer}`).toMatch(/^HTTP\/1\.1 200 /);
    await once(waiting, 'close');
  });

  it('may leave before their bodies are decoded, which take memory until then', async () => {
    const service = new FakeService([MLP]);
    const budget = { counters: newBudgetCounters(1), slot: 0 };
    const limits = { maxBodyBytes: 64 * MIB, maxJsonBytes: 64 * MIB };
    const { port, http } = await openHttp(service, { ...limits, budget });
    // Little to send, and long to decode.
    const bodies = gzipSync(BODY + ' '.repeat(4 * MIB));
    const gone = await Promise.all(Array.from({ length: 8 }, () => connected(port)));
    for (const socket of gone) {
      socket.write(head(`content-length: ${bodies.length}\r\ncontent-encoding: gzip`));
      socket.write(bodies);
    }
    // All are read long before a second is decoded.
    await http.get('/v2/health/live');
    await Promise.all(gone.map((socket) => once(socket.resetAndDestroy(), 'close')));
    await http.get('/v2/health/live');
    expect(new Int32Array(budget.counters)[0]).toBeGreaterThan(0);
    const again = () => http.post('/v2/models/mlp/infer', bodies, { 'content-encoding': 'gzip' });
    while ((await again()).status !== 200);
    expect(service.requests.length).toBeLessThanOrEqual(3);
    await expect.poll(() => new Int32Array(budget.counters)[0]).toBe(0);
  });
});

describe('closing', () => {
  it('cuts off what is under way if it must', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { frontend, http } = await openHttp(service);
    const asked = expect(http.post('/v2/models/mlp/infer', BODY)).rejects.toThrow();
    while (service.requests.length === 0) await new Promise(setImmediate);
    await frontend.close(false);
    await asked;
  });
});

describe.each([
  ['HTTP', openHttpFrontend],
  ['gRPC', openGrpcFrontend],
])('closing %s', (_, open) => {
  it('does not wait for clients that say nothing', async () => {
    const frontend = await open(new FakeService([MLP]), { port: 0, defaultSloNs: 1, serverVersion: '1' });
    // It does not listen either, and so never learns that the server has hung up.
    const silent = await connected(frontend.port);
    await expect(frontend.close(true)).resolves.toBeUndefined();
    silent.destroy();
  });
});

function head(header: string): string {
  return `POST /v2/models/mlp/infer HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
