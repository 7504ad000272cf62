import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { echoModel, FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';
import { serializeInfer } from '../grpc-client.js';

// Bytes on the wire, without a gRPC library in between.

const MIB = 1024 * 1024;
const MODELS = [echoModel('mlp', false, [['x', 'FP32', [-1]]])];
const SERVICE = '/inference.GRPCInferenceService';

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

async function serve(options = {}) {
  const service = new FakeService(MODELS);
  const { port } = await openGrpc(service, options);
  return { service, port, session: open(port) };
}

function open(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  sessions.push(session);
  return session;
}

interface Answer {
  readonly status: string;
  readonly message: string;
  readonly http: number;
  readonly body: Buffer;
}

/** Sends the pieces and resolves with the answer, which may come before all is sent. */
function call(
  session: ClientHttp2Session,
  method: string,
  pieces: readonly Uint8Array[],
  headers: OutgoingHttpHeaders = {},
  end = true,
): Promise<Answer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': method.startsWith('/') ? method : `${SERVICE}/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {});
  for (const piece of pieces) stream.write(piece);
  if (end) stream.end();
  return new Promise((resolve) => {
    const got: Record<string, unknown> = {};
    const parts: Buffer[] = [];
    stream.on('response', (given) => Object.assign(got, given));
    stream.on('trailers', (given) => Object.assign(got, given));
    stream.on('data', (part) => parts.push(part));
    stream.on('close', () =>
      resolve({
        status: String(got['grpc-status']),
        message: decodeURIComponent(String(got['grpc-message'] ?? '')),
        http: Number(got[':status']),
        body: Buffer.concat(parts),
      }),
    );
  });
}

function frame(message: Uint8Array, flag = 0, length = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

function infer(count: number): Buffer {
  const values = Float32Array.from({ length: count }, (_, i) => i);
  return serializeInfer({
    model_name: 'mlp',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [count] }],
    raw_input_contents: [Buffer.from(values.buffer)],
  });
}

/** A few kB of gzip that hold four million empty sub-messages. */
const EMPTIES = gzipSync(Buffer.alloc(8 * MIB, Buffer.from([0x2a, 0])));

describe('compression', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('by %s is read, of short and long messages', async (encoding, compress) => {
    const { session, service } = await serve();
    for (const count of [2, 300_000]) {
      const message = compress(infer(count));
      const answer = await call(session, 'ModelInfer', [frame(message, 1)], { 'grpc-encoding': encoding });
      expect(answer.status).toBe('0');
      const [input] = service.requests[service.requests.length - 1].inputs;
      expect(input.length).toBe(4 * count);
      expect(Buffer.from(input).readFloatLE(4)).toBe(1);
    }
  });

  it.each([2, 300_000])('by gzip may have several members: %i elements', async (count) => {
    const { session, service } = await serve();
    const bytes = infer(count);
    const message = Buffer.concat([gzipSync(bytes.subarray(0, 20)), gzipSync(bytes.subarray(20))]);
    const answer = await call(session, 'ModelInfer', [frame(message, 1)], { 'grpc-encoding': 'gzip' });
    expect([answer.status, service.requests[0]?.inputs[0].length]).toEqual(['0', 4 * count]);
  });

  it.each([
    ['gzip', gzipSync, 2],
    ['deflate', deflateSync, 2],
    ['gzip', gzipSync, 300_000],
    ['deflate', deflateSync, 300_000],
  ] as const)('by %s may not be followed by something else', async (encoding, compress, count) => {
    const { session } = await serve();
    for (const stray of ['stray', '\0', '\0stray']) {
      const message = Buffer.concat([compress(infer(count)), Buffer.from(stray)]);
      const answer = await call(session, 'ModelInfer', [frame(message, 1)], { 'grpc-encoding': encoding });
      expect([answer.status, answer.message]).toEqual(['3', `a message is no ${encoding} data`]);
    }
  });

  it('bombs are refused at their limit, and the server goes on', async () => {
    const { session } = await serve({ maxBodyBytes: MIB });
    const bomb = gzipSync(Buffer.alloc(200 * MIB));
    const gzip = { 'grpc-encoding': 'gzip' };
    expect(await call(session, 'ModelInfer', [frame(bomb, 1)], gzip)).toMatchObject({
      status: '8',
      message: 'a message is more than 1048576 bytes when decompressed',
    });
    expect((await call(session, 'ServerLive', [frame(new Uint8Array(0))])).status).toBe('0');
  });

  it('of millions of empty messages is refused before it is decoded', async () => {
    const { session } = await serve();
    const gzip = { 'grpc-encoding': 'gzip' };
    const before = process.memoryUsage().heapUsed;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call(session, 'ModelInfer', [frame(EMPTIES, 1)], gzip)),
    );
    const texts = answers.map(({ status, message }) => `${status} ${message}`);
    expect(texts.some((text) => /^3 .*more than 4096 fields/.test(text))).toBe(true);
    // Twenty at once are also more than a connection may hold.
    for (const text of texts)
      expect(text).toMatch(/^3 .*more than 4096 fields|^8 this connection holds as much/);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * MIB);
  });

  it.each([
    [
      'an encoding that is not known',
      'br',
      1,
      '12',
      'grpc-encoding: this server reads identity, gzip and deflate',
    ],
    [
      'no encoding',
      'identity',
      1,
      '3',
      'a message is compressed although grpc-encoding names no compression',
    ],
    ['data that is none', 'gzip', 1, '3', 'a message is no gzip data'],
    ['a flag that is none', 'gzip', 7, '3', 'a message begins with 7; expected 0, or 1 if it is compressed'],
  ])('with %s is refused', async (_, encoding, flag, status, message) => {
    const { session } = await serve();
    const pieces = [frame(Buffer.from('no gzip at all'), flag)];
    expect(await call(session, 'ModelInfer', pieces, { 'grpc-encoding': encoding })).toMatchObject({
      status,
      message,
    });
  });
});

describe('a token', () => {
  it('is checked before anything of a call is read', async () => {
    const { session } = await serve({ token: 's3cret' });
    // The message never ends, and still there is an answer.
    const answer = await call(session, 'ModelInfer', [frame(EMPTIES, 1, 60 * MIB)], {}, false);
    expect(answer.status).toBe('16');
    for (const path of [
      `${SERVICE}/ModelStreamInfer`,
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    ])
      expect((await call(session, path, [], {}, false)).status).toBe('16');
  });
});

describe('memory', () => {
  it('is refused as soon as a message announces more than there is', async () => {
    const { session } = await serve({ maxInflightBytes: 8 * MIB });
    const answer = await call(session, 'ModelInfer', [frame(new Uint8Array(0), 0, 32 * MIB)], {}, false);
    expect(answer).toMatchObject({ status: '8', message: expect.stringContaining('try again later') });
  });

  it('comes back when calls end, and when clients go', async () => {
    const { port, service } = await serve({ maxInflightBytes: 8 * MIB, maxBodyBytes: 2 * MIB });
    service.answer = null;
    for (let round = 0; round < 6; round++) {
      const session = open(port);
      const before = service.requests.length;
      for (let i = 0; i < 2; i++) void call(session, 'ModelInfer', [frame(infer(200_000))]);
      // Half a message, too.
      void call(session, 'ModelInfer', [frame(new Uint8Array(1000), 0, MIB)], {}, false);
      while (service.requests.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 5));
      session.destroy();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(service.requests.length).toBe(12);
  });
});

describe('calls that are none', () => {
  it.each([
    ['an unknown method', `${SERVICE}/Explode`, [frame(new Uint8Array(0))], {}, '12', 'unknown method'],
    ['no message', `${SERVICE}/ServerLive`, [], {}, '3', 'the call has no message'],
    [
      'a message cut off',
      `${SERVICE}/ModelInfer`,
      [frame(Buffer.alloc(5), 0, 9)],
      {},
      '3',
      'the message is cut off',
    ],
    [
      'a deadline that is none',
      `${SERVICE}/ServerLive`,
      [],
      { 'grpc-timeout': 'soon' },
      '3',
      'grpc-timeout: expected up to eight digits',
    ],
  ])('with %s are refused', async (_, path, pieces, headers, status, message) => {
    const { session } = await serve();
    expect(await call(session, path, pieces, headers)).toMatchObject({
      status,
      message: expect.stringContaining(message),
    });
  });

  it('of another protocol are refused as HTTP', async () => {
    const { session } = await serve();
    expect((await call(session, 'ServerLive', [], { 'content-type': 'application/json' })).http).toBe(415);
  });

  it('say names in any script', async () => {
    const { session } = await serve();
    const message = serializeInfer({ model_name: 'Ünï%code\n🙂' });
    const answer = await call(session, 'ModelInfer', [frame(message)]);
    expect([answer.status, answer.message]).toEqual(['5', 'unknown model "Ünï%code\\n🙂"']);
  });
});

describe('a large message', () => {
  it('passes in pieces of any size', async () => {
    const { session, service } = await serve();
    const bytes = frame(infer(5_000_000));
    const pieces = [
      bytes.subarray(0, 1),
      bytes.subarray(1, 7),
      bytes.subarray(7, 100_000),
      bytes.subarray(100_000),
    ];
    const { status, body } = await call(session, 'ModelInfer', pieces);
    expect(status).toBe('0');
    expect(service.requests[0].inputs[0].length).toBe(20_000_000);
    expect(body.readFloatLE(body.length - 4)).toBe(4_999_999);
  });
});

describe('floods', () => {
  it('of pings end the connection, and no other', async () => {
    const { session, port } = await serve();
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const ping = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const attacker = connectSocket(port, '127.0.0.1');
    attacker.on('error', () => {});
    attacker.resume();
    attacker.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings]));
    attacker.write(Buffer.alloc(500 * ping.length, ping));
    await once(attacker, 'close');
    expect((await call(session, 'ServerLive', [frame(new Uint8Array(0))])).status).toBe('0');
  });

  it('of calls that are cancelled at once leave the server working', async () => {
    const { session, port } = await serve();
    const attacker = open(port);
    await once(attacker, 'connect');
    for (let i = 0; i < 3000 && !attacker.destroyed; i++) {
      const stream = attacker.request({ ':method': 'POST', ':path': `${SERVICE}/ModelInfer` });
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
    }
    expect((await call(session, 'ServerLive', [frame(new Uint8Array(0))])).status).toBe('0');
  });
});
