import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newRefusalCounters, readRefusals } from '../../../../src/live/frontend/refusal-counts.js';
import { TurnedAway } from '../../../../src/live/frontend/turned-away.js';
import {
  CONTINUATION,
  callHeaders,
  countEnds,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  PING,
  RST_STREAM,
  SETTINGS,
  UNKNOWN,
  WIDE_WINDOW,
  WINDOW_UPDATE,
} from '../../../bench/live/hostile/frames.js';
import { Tally } from '../../../bench/live/hostile/tally.js';
import { echo, echoModel, FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';
import { serializeInfer } from '../grpc-client.js';

// Floods of frames and calls, by the byte. `npm run bench:live -- --hostile` measures what neighbors see of them.

/** A flood that is not seen by then never is. */
const PATIENCE_MS = 4000;
/** For what comes by itself. */
const PATIENCE = { timeout: 20_000, interval: 5 };
/** Of one connection. */
const MAX_STREAMS = 128;
/** The header of a GOAWAY frame without a reason, the last stream, and the code, in hexadecimal digits. */
const LAST_GOAWAY = /^000008070000000000[0-9a-f]{8}([0-9a-f]{8})$/;
const GOAWAY_BYTES = 17;
/** Flag of a SETTINGS frame. */
const ACK = 1;
const ENHANCE_YOUR_CALM = '0000000b';
const SERVICE = '/inference.GRPCInferenceService';
const CANCEL = Buffer.from([0, 0, 0, 8]);
const ONE = Buffer.from([0, 0, 0, 1]);
const NOTHING = Buffer.alloc(5);
const MODEL = echoModel('m', false, [['x', 'FP32', [1]]]);
const INFER = framed(
  serializeInfer({
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
  }),
);

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function call(path: string, message: Buffer): (id: number) => Buffer {
  const headers = callHeaders(path.startsWith('/') ? path : `${SERVICE}/${path}`);
  return (id) =>
    Buffer.concat([frame(HEADERS, END_HEADERS, id, headers), frame(DATA, END_STREAM, id, message)]);
}

function headers(id: number): Buffer {
  return frame(HEADERS, END_HEADERS, id, callHeaders(`${SERVICE}/ModelInfer`));
}

const infer = call('ModelInfer', INFER);

/** What each flood sends at first, and then again and again with the number of the next stream. */
const FLOODS: readonly (readonly [name: string, first: Buffer, next: (id: number) => Buffer])[] = [
  ['health checks', Buffer.alloc(0), call('/grpc.health.v1.Health/Check', NOTHING)],
  ['metadata', Buffer.alloc(0), call('ServerMetadata', NOTHING)],
  ['unknown methods', Buffer.alloc(0), call('Explode', NOTHING)],
  ['another protocol', Buffer.alloc(0), call('/index.html', NOTHING)],
  ['messages that are none', Buffer.alloc(0), call('ModelInfer', framed(Buffer.from('nonsense')))],
  ['messages of a stream that are none', streamed(), () => frame(DATA, 0, 1, NOTHING)],
  [
    'calls that are reset before their message',
    Buffer.alloc(0),
    (id) => Buffer.concat([headers(id), frame(RST_STREAM, 0, id, CANCEL)]),
  ],
  [
    'whole calls that are reset',
    Buffer.alloc(0),
    (id) => Buffer.concat([infer(id), frame(RST_STREAM, 0, id, CANCEL)]),
  ],
  ['pings', Buffer.alloc(0), () => frame(PING, 0, 0, Buffer.alloc(8))],
  ['settings', Buffer.alloc(0), () => frame(SETTINGS, 0, 0)],
  ['window updates', Buffer.alloc(0), () => frame(WINDOW_UPDATE, 0, 0, ONE)],
  ['unknown frames', Buffer.alloc(0), () => frame(UNKNOWN, 0, 0, Buffer.alloc(100))],
  [
    'data by the byte',
    Buffer.concat([headers(1), frame(DATA, 0, 1, Buffer.from([0, 3, 0, 0, 0]))]),
    () => frame(DATA, 0, 1, Buffer.alloc(1)),
  ],
  ['empty data', headers(1), () => frame(DATA, 0, 1)],
  [
    'continuations',
    frame(HEADERS, 0, 1, callHeaders(`${SERVICE}/ModelInfer`)),
    () => frame(CONTINUATION, 0, 1),
  ],
];

/** Of these Node ends a connection itself, if a thousand come at once. */
const BY_NODE: ReadonlySet<string> = new Set(['empty data', 'continuations', 'pings', 'settings']);

function streamed(): Buffer {
  return frame(HEADERS, END_HEADERS, 1, callHeaders(`${SERVICE}/ModelStreamInfer`));
}

function open(port: number, from = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([frame(SETTINGS, 0, 0), WIDE_WINDOW]));
  socket.resume();
  return socket;
}

/** A connection whose client has acknowledged the server's settings. */
async function acknowledged(port: number): Promise<Socket> {
  const socket = open(port);
  await once(socket, 'data');
  socket.write(frame(SETTINGS, ACK, 0));
  return socket;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function isClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}

/** Sends until the connection is closed. Answers are read, a hundred calls wait for theirs at most. */
async function flood(socket: Socket, first: Buffer, next: (id: number) => Buffer): Promise<void> {
  let ended = 0;
  countEnds(socket, new Tally(), () => ended++);
  socket.write(first);
  const example = next(3);
  const isOfCalls = example[3] === HEADERS;
  // What is reset gets no answer to wait for.
  const isReset = isOfCalls && example.at(-10) === RST_STREAM;
  const untilMs = performance.now() + PATIENCE_MS;
  for (let sent = 0; !socket.destroyed && performance.now() < untilMs; ) {
    if (!isOfCalls || isReset || sent - ended < 100) {
      const batch = Array.from({ length: isOfCalls && !isReset ? 10 : 1000 }, () => next(2 * sent++ + 1));
      if (!socket.write(Buffer.concat(batch)))
        // It may be closed meanwhile.
        await Promise.race([once(socket, 'drain').catch(() => {}), isClosed(socket), sleep(100)]);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function floodThrice(port: number, from?: string): Promise<void> {
  for (let i = 0; i < 3; i++) await flood(open(port, from), Buffer.alloc(0), call('ServerMetadata', NOTHING));
}

async function session(port: number): Promise<ClientHttp2Session> {
  const client = connectHttp2(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await once(client, 'connect');
  return client;
}

function begin(client: ClientHttp2Session, method: string, message: Buffer): ClientHttp2Stream {
  const stream = client.request({
    ':method': 'POST',
    ':path': `${SERVICE}/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.resume();
  stream.end(message);
  return stream;
}

async function ask(client: ClientHttp2Session, method: string, message: Buffer): Promise<unknown> {
  const stream = begin(client, method, message);
  let status: unknown;
  stream.on('response', (given) => {
    status = given['grpc-status'];
  });
  stream.on('trailers', (given) => {
    status = given['grpc-status'];
  });
  await once(stream, 'close');
  return status;
}

function countOf(refusals: SharedArrayBuffer, reason: string): number {
  return readRefusals(refusals).find((one) => one.transport === 'grpc' && one.reason === reason)?.count ?? 0;
}

describe('a flood', () => {
  it.each(FLOODS)('of %s ends its connection alone', async (name, first, next) => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    const neighbor = await session(port);
    const attacker = open(port);
    let got = '';
    attacker.on('data', (bytes) => {
      got = (got + bytes.toString('hex')).slice(-2 * GOAWAY_BYTES);
    });
    await flood(attacker, first, next);
    // Where Node itself ends a connection, its client may know first.
    await expect.poll(() => countOf(refusals, 'flood')).toBe(1);
    // Frames that Node itself takes for a flood have a code of its own.
    const said = LAST_GOAWAY.exec(got)?.[1];
    if (said !== undefined && !BY_NODE.has(name)) expect(said).toBe(ENHANCE_YOUR_CALM);
    // One may be that of a client behind a proxy, whose others come in.
    expect(await ask(neighbor, 'ModelInfer', INFER)).toBe('0');
    expect(await ask(await session(port), 'ModelInfer', INFER)).toBe('0');
  });

  it('that comes a third time bans its address; connections that are open go on', async () => {
    const refusals = newRefusalCounters();
    const turnedAway = new TurnedAway();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals }, turnedAway);
    const neighbor = await session(port);
    for (let i = 1; i <= 3; i++) {
      await flood(open(port), Buffer.alloc(0), call('ServerMetadata', NOTHING));
      expect(countOf(refusals, 'flood')).toBe(i);
    }
    const again = open(port);
    await isClosed(again);
    expect(countOf(refusals, 'flood')).toBe(4);
    expect(turnedAway.take()).toEqual([
      { why: 'flood', who: '127.0.0.1', count: 3 },
      { why: 'keptOut', who: '127.0.0.1', count: 1 },
    ]);
    expect(turnedAway.take()).toEqual([]);
    expect(await ask(neighbor, 'ModelInfer', INFER)).toBe('0');
  });

  it('keeps those of a banned address waiting before they learn it', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    await floodThrice(port);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const again = open(port);
    let got = '';
    again.on('data', (bytes) => {
      got += bytes.toString('hex');
    });
    await expect.poll(() => countOf(refusals, 'flood')).toBe(4);
    vi.advanceTimersByTime(900);
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([again.closed, got]).toEqual([false, '']);
    vi.advanceTimersByTime(100);
    await isClosed(again);
    expect(got).toContain(ENHANCE_YOUR_CALM);
  });

  it('of calls beyond those that a connection may have counts, although Node itself ends it', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    for (let i = 1; i <= 3; i++) {
      const socket = open(port);
      socket.write(Buffer.concat(Array.from({ length: 400 }, (_, i) => headers(2 * i + 1))));
      await isClosed(socket);
      await expect.poll(() => countOf(refusals, 'flood'), PATIENCE).toBe(i);
    }
    await isClosed(open(port));
    expect(countOf(refusals, 'flood')).toBe(4);
  });

  it('of calls beyond a limit that its client has acknowledged counts, too', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    for (let i = 1; i <= 3; i++) {
      const socket = await acknowledged(port);
      socket.write(Buffer.concat(Array.from({ length: 400 }, (_, i) => headers(2 * i + 1))));
      await isClosed(socket);
      await expect.poll(() => countOf(refusals, 'flood'), PATIENCE).toBe(i);
    }
    await isClosed(open(port));
    expect(countOf(refusals, 'flood')).toBe(4);
  });

  // Other systems have one loopback address.
  it.runIf(process.platform === 'linux')(
    'of calls that are given up in the read that brought them is seen at once',
    async () => {
      const refusals = newRefusalCounters();
      const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
      const neighbor = await session(port);
      const attacker = open(port, '127.0.0.2');
      await once(attacker, 'data');
      // Next to somebody else, most of them do not begin in that turn.
      expect(await ask(neighbor, 'ModelInfer', INFER)).toBe('0');
      const reset = (id: number) => Buffer.concat([headers(id), frame(RST_STREAM, 0, id, CANCEL)]);
      attacker.write(Buffer.concat(Array.from({ length: 300 }, (_, i) => reset(2 * i + 1))));
      await isClosed(attacker);
      expect(countOf(refusals, 'flood')).toBe(1);
    },
  );

  it('holds back other connections of its address that have brought no inference', async () => {
    const { port } = await openGrpc(new FakeService([MODEL]));
    const [proven, other] = [await session(port), await session(port)];
    expect(await ask(proven, 'ModelInfer', INFER)).toBe('0');
    expect(await ask(other, 'ServerLive', NOTHING)).toBe('0');
    const fromMs = performance.now();
    await flood(open(port), Buffer.alloc(0), call('ServerMetadata', NOTHING));
    const order: string[] = [];
    const asked = async (name: string, client: ClientHttp2Session) => {
      await ask(client, 'ServerLive', NOTHING);
      order.push(name);
      return performance.now() - fromMs;
    };
    const late = session(port).then((client) => asked('late', client));
    const [heldMs, lateMs] = await Promise.all([asked('other', other), late, asked('proven', proven)]);
    expect(order[0]).toBe('proven');
    expect(heldMs).toBeGreaterThan(99);
    expect(lateMs).toBeGreaterThan(99);
  });

  it.runIf(process.platform === 'linux')('of one address bans no other', async () => {
    const { port } = await openGrpc(new FakeService([MODEL]));
    await floodThrice(port, '127.0.0.2');
    expect(await ask(await session(port), 'ServerLive', NOTHING)).toBe('0');
  });

  it('bans no address where clients share an address', async () => {
    const { port } = await openGrpc(new FakeService([MODEL]), { maxClientRequests: null });
    await floodThrice(port);
    expect(await ask(await session(port), 'ServerLive', NOTHING)).toBe('0');
  });
});

describe('no flood', () => {
  it('is a breach of the protocol on a connection with few calls', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    for (let i = 0; i < 4; i++) {
      const socket = await acknowledged(port);
      // A number that only a server may give a stream.
      socket.write(Buffer.concat([headers(1), headers(2)]));
      await isClosed(socket);
    }
    expect(await ask(await session(port), 'ModelInfer', INFER)).toBe('0');
    expect(countOf(refusals, 'flood')).toBe(0);
  });

  it('are thousands of inferences, each after a look at the model', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    const client = await session(port);
    for (let round = 0; round < 20; round++) {
      const asked = Array.from({ length: 50 }, async () => [
        await ask(client, 'ServerReady', NOTHING),
        await ask(client, 'ModelInfer', INFER),
      ]);
      expect(new Set((await Promise.all(asked)).flat())).toEqual(new Set(['0']));
    }
    expect(countOf(refusals, 'flood')).toBe(0);
  });

  it('are all calls of a connection, given up at a deadline that passed at once', async () => {
    const refusals = newRefusalCounters();
    const service = new FakeService([MODEL]);
    service.answer = null;
    const { port } = await openGrpc(service, { refusals });
    const socket = open(port);
    const client = await session(port);
    for (let round = 0; round < 5; round++) {
      const ids = Array.from({ length: MAX_STREAMS }, (_, i) => 2 * (round * MAX_STREAMS + i) + 1);
      // Read together, as by a server that was busy when the deadline passed.
      socket.write(Buffer.concat([...ids.map(infer), ...ids.map((id) => frame(RST_STREAM, 0, id, CANCEL))]));
    }
    // Some began before their reset was read.
    await vi.waitUntil(() => service.requests.length > 0, PATIENCE);
    service.answer = echo;
    expect(await ask(client, 'ModelInfer', INFER)).toBe('0');
    const last = 2 * 5 * MAX_STREAMS + 1;
    const answered = new Promise<void>((resolve) => countEnds(socket, new Tally(), resolve));
    socket.write(infer(last));
    await answered;
    expect([countOf(refusals, 'flood'), socket.destroyed]).toEqual([0, false]);
  });

  it('are more calls at a time than a connection may have open: they wait for each other', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    const client = await session(port);
    const asked = Array.from({ length: 1000 }, () => ask(client, 'ModelInfer', INFER));
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['0']));
    expect(client.remoteSettings.maxConcurrentStreams).toBe(MAX_STREAMS);
    expect(countOf(refusals, 'flood')).toBe(0);
  });

  it('are as many calls as a connection may have whose client crashes', async () => {
    const refusals = newRefusalCounters();
    const { port } = await openGrpc(new FakeService([MODEL]), { refusals });
    const socket = open(port);
    socket.write(Buffer.concat(Array.from({ length: MAX_STREAMS }, (_, i) => headers(2 * i + 1))));
    const client = await session(port);
    await ask(client, 'ServerLive', NOTHING);
    socket.destroy();
    for (let i = 0; i < 10; i++) expect(await ask(await session(port), 'ServerLive', NOTHING)).toBe('0');
    expect(countOf(refusals, 'flood')).toBe(0);
  });

  it('are requests that are refused while no worker is there', async () => {
    const refusals = newRefusalCounters();
    const service = new FakeService([MODEL]);
    service.notReady = 'no worker is up';
    const { port } = await openGrpc(service, { refusals });
    const client = await session(port);
    for (let i = 0; i < 10; i++) {
      const asked = Array.from({ length: 50 }, () => ask(client, 'ModelInfer', INFER));
      expect(new Set(await Promise.all(asked))).toEqual(new Set(['14']));
    }
    expect([countOf(refusals, 'flood'), countOf(refusals, 'not_ready')]).toEqual([0, 500]);
  });
});
