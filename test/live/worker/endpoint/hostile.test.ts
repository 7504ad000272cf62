import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { crc32, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { helloToHeaders } from '../../../../src/live/wire/hello.js';
import { connectTo, PATIENT, serve } from '../../controller/link/fixtures.js';

const HELLO = { token: '', controller: 'test', maxMessageBytes: 1e6 };
/** As many lists as messages may have, each of two bytes. */
const EMPTY_LISTS = `{"body":"actions","number":1,"actions":[${'[],'.repeat(99_990)}[]]}`;
/** As many as there could be of 36 kB. */
const MORE_LISTS = `{"body":"actions","actions":[${'[],'.repeat(12_000_000)}[]]}`;

describe('a worker port in a hostile network', () => {
  it.each([
    ['without the token', 'wrong', MORE_LISTS, '16'],
    ['with it', 'secret', MORE_LISTS, '15'],
    ['with it, just under a limit', 'secret', EMPTY_LISTS, '15'],
  ])('decodes no empty lists from little gzip, %s', async (_, token, lists, grpcStatus) => {
    const { server } = await serve({ token: 'secret', ...PATIENT });
    const headers = { ...plain(helloToHeaders({ ...HELLO, token })), 'grpc-encoding': 'gzip' };
    const heap = process.memoryUsage().heapUsed;
    const ended = await stream(server.port, headers, frame(gzipSync(checked(lists)), 1));
    expect(ended['grpc-status']).toBe(grpcStatus);
    // Decoded they take gigabytes.
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(100e6);
    await connectTo(server.port, { token: 'secret' }).events.next('up');
  });

  it('closes the oldest of too many silent connections, and lets a controller in', async () => {
    const { server } = await serve();
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open(server.port)));
    await connectTo(server.port).events.next('up');
    const stillOpen = () => sockets.filter(({ closed }) => !closed).length;
    await expect.poll(stillOpen).toBeLessThanOrEqual(64);
    expect(stillOpen()).toBeGreaterThan(0);
  });

  it('closes a connection that brings no controller within seconds', async () => {
    const { server } = await serve();
    const silent = await open(server.port);
    const begin = performance.now();
    await new Promise((resolve) => silent.once('close', resolve));
    expect(performance.now() - begin).toBeGreaterThan(4000);
  });
});

/** As a message: with the length of the text and a checksum. */
function checked(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.alloc(length + 8);
  bytes.writeUInt32LE(length);
  bytes.write(text, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), length + 4);
  return bytes;
}

function frame(message: Buffer, compressed: number): Buffer {
  const head = Buffer.from([compressed, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function plain(headers: ReturnType<typeof helloToHeaders>): Record<string, string> {
  return headers.toHttp2Headers() as unknown as Record<string, string>;
}

/** The trailers that a call ends with which sends these bytes. */
function stream(
  port: number,
  headers: Record<string, string>,
  bytes: Buffer,
): Promise<Record<string, unknown>> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  session.on('error', () => {});
  const call = session.request({
    ':method': 'POST',
    ':path': '/escapement.worker.v1.Worker/Drive',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  call.on('error', () => {});
  call.resume();
  return new Promise((resolve) => {
    call.on('response', (response) => {
      if (response['grpc-status'] !== undefined) resolve(response);
    });
    call.on('trailers', resolve);
    call.write(bytes);
  });
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject).resume();
    onTestFinished(() => void socket.destroy());
  });
}
