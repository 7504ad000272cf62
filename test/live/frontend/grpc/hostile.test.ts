import { once } from 'node:events';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { newApiErrorCounters, readApiErrors } from '../../../../src/live/frontend/api-error.js';
import {
  callHeaders,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  frame as http2,
  RST_STREAM,
  SETTINGS,
} from '../../../bench/live/hostile/frames.js';
import { echo, echoModel, FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';
import { serializeInfer } from '../grpc-client.js';

// Bytes on the wire, without a gRPC library in between.

const MIB = 1024 * 1024;
const MODELS = [echoModel('mlp', false, [['x', 'FP32', [-1]]])];
const SERVICE = '/inference.GRPCInferenceService';
const HEALTH = '/grpc.health.v1.Health';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

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
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
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
  void (async () => {
    for await (const piece of pieces) stream.write(piece);
    if (end) stream.end();
  })();
  return new Promise((resolve) => {
    const got: Record<string, unknown> = {};
    const parts: Buffer[] = [];
    stream.on('response', (given) => Object.assign(got, given));
    stream.on('trailers', (given) => Object.assign(got, given));
    stream.on('data', (part) => parts.push(part));
    // The server may answer before all is sent.
    stream.on('end', () => stream.close());
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
const EMPTIES = gzipSync(Buffer.alloc(8 * MIB, Buffer.from([0x22, 0])));

describe('compression', () => {
  it('bombs are refused at their limit, and the server goes on', async () => {
    const { session } = await serve({ maxBodyBytes: MIB });
    const bomb = gzipSync(Buffer.alloc(200 * MIB));
    const gzip = { 'grpc-encoding': 'gzip' };
    expect(await call(session, 'ModelInfer', [frame(bomb, 1)], gzip)).toMatchObject({
      status: '8',
      message: 'Received message that decompresses to a size larger than 1048576',
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
    expect(texts.some((text) => /^8 .*more than 65536 bytes besides/.test(text))).toBe(true);
    // Twenty at once are also more than a connection may hold.
    for (const text of texts)
      expect(text).toMatch(/^8 (.*more than 65536 bytes besides|this connection holds as much)/);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * MIB);
  });
});

describe('a token', () => {
  it('is checked before anything of a call is read', async () => {
    const { session } = await serve({ token: 's3cret' });
    // The message never ends, and still there is an answer.
    const answer = await call(session, 'ModelInfer', [frame(EMPTIES, 1, 60 * MIB)], {}, false);
    expect(answer.status).toBe('16');
    for (const path of [`${SERVICE}/ModelStreamInfer`, REFLECTION])
      expect((await call(session, path, [], {}, false)).status).toBe('16');
  });
});

describe('memory', () => {
  it('of messages that do not end is limited: the connection is closed, and no other', async () => {
    const counters = newApiErrorCounters();
    const { port, session } = await serve({ maxInflightBytes: 8 * MIB, apiErrors: counters });
    const greedy = open(port);
    void call(greedy, 'ModelInfer', [frame(Buffer.alloc(16 * MIB), 0, 32 * MIB)], {}, false);
    // With or without an error: what it goes on sending may meet a socket that is closed.
    await new Promise((resolve) => greedy.once('close', resolve));
    const closed = readApiErrors(counters).filter(
      ({ reason, count }) => reason === 'over_budget' && count > 0,
    );
    expect(closed).toMatchObject([{ transport: 'grpc', count: 1 }]);
    expect((await call(session, 'ServerLive', [frame(new Uint8Array(0))])).status).toBe('0');
  });

  it('of a stream is limited: it ends with a status, and the others of its connection go on', async () => {
    const counters = newApiErrorCounters();
    const { session, service } = await serve({
      ...{ maxInflightBytes: MIB / 4, maxBodyBytes: MIB / 16, apiErrors: counters },
    });
    service.answer = null;
    const other = call(session, 'ModelInfer', [frame(infer(2))]);
    await expect.poll(() => service.requests.length).toBe(1);
    let isOver = false;
    // One by one and each in a single packet: over the limit with an incomplete message, the connection would be closed.
    const messages = (async function* () {
      while (!isOver) {
        const taken = service.requests.length;
        yield frame(infer(3_000));
        while (!isOver && service.requests.length === taken) await sleep(1);
      }
    })();
    const greedy = await call(session, 'ModelStreamInfer', messages, {}, false);
    isOver = true;
    expect(greedy.status).toBe('8');
    expect(service.requests.length).toBeGreaterThan(1);
    service.requests[0].done(echo(service.requests[0]));
    expect((await other).status).toBe('0');
    const refused = readApiErrors(counters).filter(({ count }) => count > 0);
    expect(refused).toMatchObject([{ transport: 'grpc', reason: 'over_budget', count: 1 }]);
  });

  it('is not needed to ask for the health, and strangers take none', async () => {
    const { port, service, session } = await serve({
      ...{ maxInflightBytes: MIB, maxBodyBytes: MIB, maxConnections: 100, token: 's3cret' },
    });
    const authorization = 'Bearer s3cret';
    const watchers = Array.from({ length: 10 }, () => open(port));
    for (const watcher of watchers)
      for (let i = 0; i < 50; i++) void call(watcher, `${HEALTH}/Watch`, [frame(new Uint8Array(0))]);
    expect((await call(session, 'ModelInfer', [frame(infer(2))], { authorization })).status).toBe('0');
    service.answer = null;
    const calls = watchers.map((watcher) =>
      call(watcher, 'ModelInfer', [frame(infer(20_000))], { authorization }),
    );
    expect((await Promise.race(calls)).status).toBe('8');
    for (const path of [`${HEALTH}/Check`, `${SERVICE}/ServerLive`, `${SERVICE}/ServerReady`])
      expect((await call(session, path, [frame(new Uint8Array(0))])).status).toBe('0');
  });

  it('of messages of strangers is little: the connection is closed', async () => {
    const { port } = await serve({ token: 's3cret' });
    const stranger = open(port);
    void call(stranger, `${HEALTH}/Watch`, [frame(Buffer.alloc(MIB), 0, 32 * MIB)], {}, false);
    await expect(once(stranger, 'close')).resolves.toEqual([]);
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

describe('a server answers others next to', () => {
  const HELLO = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), http2(SETTINGS, 0, 0)]);
  const INFER = callHeaders(`${SERVICE}/ModelInfer`);

  it.each([
    [
      'calls without a message',
      (nth: number) => http2(HEADERS, END_HEADERS | END_STREAM, 2 * nth + 1, INFER),
    ],
    [
      'calls that are reset',
      (nth: number) =>
        Buffer.concat([
          http2(HEADERS, END_HEADERS, 2 * nth + 1, INFER),
          http2(RST_STREAM, 0, 2 * nth + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
  ])('thousands of %s', async (_, next) => {
    const { session, port } = await serve();
    const attacker = connectSocket(port, '127.0.0.1');
    attacker.on('error', () => {});
    attacker.resume();
    attacker.write(Buffer.concat([HELLO, ...Array.from({ length: 5000 }, (_, nth) => next(nth))]));
    for (let i = 0; i < 20; i++)
      expect((await call(session, 'ModelInfer', [frame(infer(2))])).status).toBe('0');
    attacker.destroy();
  });

  it('a stream of questions that reflection answers without end, which take a limited memory', async () => {
    const { session, port } = await serve({ maxInflightBytes: 8 * MIB });
    const name = 'inference.GRPCInferenceService';
    const question = frame(Buffer.from(`\x22${String.fromCharCode(name.length)}${name}`));
    const greedy = await call(open(port), REFLECTION, new Array(1000).fill(question), {}, false);
    expect([greedy.status, greedy.message]).toEqual([
      '8',
      expect.stringMatching(/^requests from this address hold /),
    ]);
    expect((await call(session, 'ServerLive', [frame(new Uint8Array(0))])).status).toBe('0');
  });

  it('responses that are never read, which take a limited memory', async () => {
    const { session, port } = await serve({ maxInflightBytes: 64 * MIB });
    const attacker = open(port);
    let status: unknown;
    for (let i = 0; i < 20 && status !== '8'; i++) {
      const stream = attacker.request({
        ...{ ':method': 'POST', ':path': `${SERVICE}/ModelInfer`, 'content-type': 'application/grpc' },
      });
      stream.on('error', () => {});
      stream.end(frame(infer(MIB)));
      const [headers] = await once(stream, 'response');
      status = headers['grpc-status'];
    }
    expect(status).toBe('8');
    attacker.destroy();
    await expect.poll(async () => (await call(session, 'ModelInfer', [frame(infer(MIB))])).status).toBe('0');
  });
});

describe('streams that watch the health', () => {
  it('count as requests of their address, whatever they name', async () => {
    const { port } = await serve({ maxClientRequests: 5 });
    const session = open(port);
    const statuses: unknown[] = [];
    for (let nth = 0; nth < 7; nth++) statuses.push(await watch(session, Buffer.from('\x0a\x05other')));
    expect(statuses).toEqual([...new Array(5).fill(undefined), '8', '8']);
    session.destroy();
    await expect.poll(() => watch(open(port), new Uint8Array(0))).toBe(undefined);
  });

  /** Resolves to the status with which it is refused. */
  async function watch(session: ClientHttp2Session, message: Uint8Array): Promise<unknown> {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': `${HEALTH}/Watch`, 'content-type': 'application/grpc' },
    });
    stream.on('error', () => {});
    stream.end(frame(message));
    const [headers] = await once(stream, 'response');
    return headers['grpc-status'];
  }
});
