import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startMetricsServer } from '../../../../src/live/observe/telemetry/metrics-server.js';
import { json, type Reply, type Route } from '../../../../src/live/observe/telemetry/route.js';
import { noOpenssl, selfSigned } from '../../../self-signed.js';

const STRANGER = '127.0.0.2';
const FRIEND = '127.0.0.3';
const HALF = 'GET /healthz HTTP/1.1\r\nhost';
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';

/** A server with the token "secret", and whose connections it has closed because there were too many. */
async function start(routes: readonly Route[] = [], tls: ReturnType<typeof selfSigned> | null = null) {
  const overfilled: string[] = [];
  const server = await startMetricsServer({
    ...{ registry: new Registry(), host: '127.0.0.1', port: 0, healthy: () => true, token: 'secret', tls },
    routes: () => routes,
    overfilled: (client) => overfilled.push(client),
  });
  onTestFinished(() => server.close());
  return { port: server.port, overfilled };
}

async function open(port: number, from: string, bytes = ''): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  return socket;
}

/** 80 connections of a stranger that each send `bytes`, and nothing more. */
async function flood(port: number, bytes: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < 80; i++) sockets.push(await open(port, STRANGER, bytes));
  return sockets;
}

/** What comes first; empty if the connection ends before. */
function heard(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(String(bytes)));
    socket.once('close', () => resolve(''));
  });
}

/** More than sockets take from a server whose client does not read. */
const LARGE = Buffer.alloc(16 * 2 ** 20);

function large(path: string, isPublic: boolean): Route {
  const body = LARGE;
  return { path, isPublic, answer: () => ({ status: 200, contentType: 'text/plain', body }) };
}

describe('strangers at the metrics port', () => {
  it.each([
    ['half requests', HALF],
    ['connections that say nothing', ''],
    ['connections that stay after an answer', HEALTH],
    ['public answers that they do not read', 'GET /ui/ HTTP/1.1\r\nhost: a\r\n\r\n'],
  ])('do not keep others out with %s', async (_, bytes) => {
    const { port, overfilled } = await start([large('/ui/', true)]);
    const sockets = await flood(port, bytes);
    expect(await heard(await open(port, FRIEND, HEALTH))).toMatch(/^HTTP\/1\.1 200 /);
    expect(sockets.slice(-60).every(({ closed }) => !closed)).toBe(true);
    expect(new Set(overfilled)).toEqual(new Set([STRANGER]));
    expect(overfilled).toHaveLength(81 - 64);
  });

  it('nor with connections that begin no TLS', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = selfSigned();
    const { port } = await start([], tls);
    await flood(port, '');
    const where = { port, host: '127.0.0.1', localAddress: FRIEND, rejectUnauthorized: false };
    const friend = connectTls(where, () => friend.write(HEALTH));
    friend.on('error', () => {});
    onTestFinished(() => void friend.destroy());
    expect(await heard(friend)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('take no place from an address with fewer connections, however old those are', async () => {
    const { port } = await start();
    const friend = await open(port, FRIEND, HALF);
    const answered = heard(friend);
    await flood(port, HALF);
    friend.write(': a\r\n\r\n');
    expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('nor from those of their own address who have the token and wait for an answer', async () => {
    let finish = () => {};
    const answer = () =>
      new Promise<Reply>((resolve) => {
        finish = () => resolve(json(200, {}));
      });
    const { port } = await start([{ path: '/slow', answer }]);
    const request = 'GET /slow HTTP/1.1\r\nhost: a\r\nauthorization: Bearer secret\r\n\r\n';
    const friend = await open(port, STRANGER, request);
    const answered = heard(friend);
    await flood(port, HALF);
    finish();
    expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('are cut off within seconds', async () => {
    const { port, overfilled } = await start();
    const begin = performance.now();
    const sockets = [await open(port, STRANGER), await open(port, STRANGER, HALF)];
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
    expect(performance.now() - begin).toBeGreaterThan(4000);
    expect(overfilled).toEqual([]);
  });
});
