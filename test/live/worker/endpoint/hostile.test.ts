import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { crc32, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { helloToHeaders } from '../../../../src/live/wire/hello.js';
import { connectTo, serve } from '../../controller/link/fixtures.js';

const HELLO = { token: '', controller: 'test', maxMessageBytes: 1e6 };
/** `Actions` of as many actions as fit, each two bytes of nothing. */
const EMPTY_ACTIONS = repeated([0x12, 0x00], 8_000_000);

describe('a worker port in a hostile network', () => {
  it.each([
    ['without the token', { token: 'wrong' }, '16'],
    ['with it', { token: 'secret' }, '15'],
  ])('decodes no millions of empty messages from 16 kB of gzip, %s', async (_, { token }, grpcStatus) => {
    const { server } = await serve({ token: 'secret' });
    const headers = { ...plain(helloToHeaders({ ...HELLO, token })), 'grpc-encoding': 'gzip' };
    const heap = process.memoryUsage().heapUsed;
    const ended = await stream(server.port, headers, frame(gzipSync(checked(EMPTY_ACTIONS)), 1));
    expect(ended['grpc-status']).toBe(grpcStatus);
    // Decoded they take gigabytes.
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(100e6);
    await connectTo(server.port, { token: 'secret' }).events.next('up');
  });

  it.each([
    ['packed numbers without end', [0x1a, 0x05, 0x0a, 0x03, 0x52, 0x01, 0xff]],
    ['an unknown field', [0x78, 0x01]],
    ['a group', [0x1b, 0x1c]],
    ['a part that is longer than the whole', [0x1a, 0x7f]],
    ['a length of six bytes', [0x1a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
  ])('refuses a message with %s', async (_, bytes) => {
    const { server } = await serve();
    const ended = await stream(
      server.port,
      plain(helloToHeaders(HELLO)),
      frame(checked(Buffer.from(bytes)), 0),
    );
    expect(ended['grpc-status']).toBe('15');
  });

  it('refuses a message with a flipped bit', async () => {
    const { server } = await serve();
    // Ping of nothing.
    const message = checked(Buffer.from([0x22, 0x00]));
    message[0] ^= 1;
    const ended = await stream(server.port, plain(helloToHeaders(HELLO)), frame(message, 0));
    expect(ended).toMatchObject({ 'grpc-status': '15', 'grpc-message': expect.stringContaining('checksum') });
  });

  it('closes the oldest of too many silent connections, and lets a controller in', async () => {
    const { server } = await serve();
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open(server.port)));
    await connectTo(server.port).events.next('up');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sockets.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(64);
    expect(sockets.some(({ closed }) => !closed)).toBe(true);
  });

  it('closes a connection that brings no controller within seconds', async () => {
    const { server } = await serve();
    const silent = await open(server.port);
    const begin = performance.now();
    await new Promise((resolve) => silent.once('close', resolve));
    expect(performance.now() - begin).toBeGreaterThan(4000);
  });
});

function repeated(item: readonly number[], bytes: number): Buffer {
  const body = Buffer.alloc(bytes, Buffer.from(item));
  const length: number[] = [];
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 128)) length.push((rest % 128) | 0x80);
  length[length.length - 1] &= 0x7f;
  return Buffer.concat([Buffer.from([0x1a, ...length]), body]);
}

/** With field 14, its number, and 15, the checksum of what comes before its last four bytes. */
function checked(bytes: Buffer): Buffer {
  const whole = Buffer.concat([bytes, Buffer.from([0x70, 1, 0x7d, 0, 0, 0, 0])]);
  whole.writeUInt32LE(crc32(whole.subarray(0, -4)), whole.length - 4);
  return whole;
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
