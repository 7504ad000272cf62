import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { noOpenssl, selfSigned } from '../../../self-signed.js';
import { FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';

async function open(port: number, from = '127.0.0.1', isTls = false): Promise<ClientHttp2Session> {
  const where = { port, host: '127.0.0.1', localAddress: from };
  const client = connect(`http://127.0.0.1:${port}`, {
    createConnection: () =>
      isTls
        ? connectTls({ ...where, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
        : connectSocket(where),
  });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await once(client, 'remoteSettings');
  return client;
}

function callsOf(client: ClientHttp2Session): number | undefined {
  return client.remoteSettings.maxConcurrentStreams;
}

async function isLive(client: ClientHttp2Session): Promise<unknown> {
  const path = '/inference.GRPCInferenceService/ServerLive';
  const call = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  call.end(Buffer.alloc(5));
  call.resume();
  const [trailers] = await once(call, 'trailers');
  return trailers['grpc-status'];
}

it.for([false, true])(
  'a client has few calls open on connections beyond its share; TLS: %s',
  async (isTls, { skip }) => {
    skip(isTls && noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = isTls ? selfSigned() : null;
    const { port } = await openGrpc(new FakeService([]), { maxClientRequests: 200, tls });
    const [first, second, third] = [
      await open(port, '127.0.0.1', isTls),
      await open(port, '127.0.0.1', isTls),
      await open(port, '127.0.0.1', isTls),
    ];
    expect([first, second, third].map(callsOf)).toEqual([128, 128, 16]);
    expect(await isLive(third)).toBe('0');
    first.destroy();
    await expect.poll(async () => callsOf(await open(port, '127.0.0.1', isTls))).toBe(128);
    expect(callsOf(await open(port, '127.0.0.1', isTls))).toBe(16);
  },
);

// Other systems have one loopback address.
it.runIf(process.platform === 'linux')('each client has a share of its own', async () => {
  const { port } = await openGrpc(new FakeService([]), { maxClientRequests: 1 });
  const clients = [await open(port), await open(port), await open(port, '127.0.0.2')];
  expect(clients.map(callsOf)).toEqual([128, 16, 128]);
});

it('all connections have many calls where clients share an address', async () => {
  const { port } = await openGrpc(new FakeService([]), { maxClientRequests: null });
  const clients = await Promise.all(Array.from({ length: 40 }, () => open(port)));
  expect(new Set(clients.map(callsOf))).toEqual(new Set([128]));
});
