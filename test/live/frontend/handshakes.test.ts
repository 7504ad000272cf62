import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { echoModel, FakeService } from './fake-service.js';
import { openGrpc, openHttp } from './fixtures.js';

const MODEL = echoModel('m', false, [['x', 'FP32', [1]]]);
const TIMEOUT_MS = 1000;
/** The default would take ten. */
const PATIENCE_MS = 6000;

/** What a client sends first in a handshake. */
let hello: Buffer;
const sink = createServer();

beforeAll(async () => {
  sink.listen(0, '127.0.0.1');
  await once(sink, 'listening');
  const { port } = sink.address() as { port: number };
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  client.on('error', () => {});
  const [socket] = (await once(sink, 'connection')) as [Socket];
  [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
});

afterAll(() => void sink.close());

describe.skipIf(noOpenssl).each([
  ['HTTP', openHttp],
  ['gRPC', openGrpc],
])('a TLS handshake over %s (needs openssl for a certificate)', (_, open) => {
  const CASES: readonly (readonly [string, (socket: Socket) => NodeJS.Timeout | null])[] = [
    ['that does not begin', () => null],
    ['that comes by the byte', trickle],
  ];

  it.each(CASES)('%s is closed in time', async (_name, act) => {
    const options = { tls: selfSigned(), handshakeTimeoutMs: TIMEOUT_MS };
    const { port } = await open(new FakeService([MODEL]), options);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'connect');
    const timer = act(socket);
    const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
    const late = new Promise((resolve) => setTimeout(() => resolve('open'), PATIENCE_MS));
    onTestFinished(() => {
      clearInterval(timer ?? undefined);
      socket.destroy();
    });
    expect(await Promise.race([closed, late])).toBe('closed');
  });
});

/** It is right, and would take longer than anyone waits. */
function trickle(socket: Socket): NodeJS.Timeout {
  let sent = 0;
  return setInterval(() => {
    if (socket.writable && sent < hello.length) socket.write(hello.subarray(sent, ++sent));
  }, 100);
}
