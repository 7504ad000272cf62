import type { Socket } from 'node:net';
import {
  callHeaders,
  countEnds,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  leave,
  openHttp2,
  WIDE_WINDOW,
} from '../frames.js';
import { INFER } from '../grpc-client.js';
import { field, framed, inferMessage } from '../protobuf.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, SMALL, type Target } from '../target.js';

/** Calls that are right, each of them, but too many. */

/** Of a connection at a time: fewer than the server allows. */
const AT_A_TIME = 100;
const SERVICE = '/inference.GRPCInferenceService';

/** A call without the frames' stream. */
interface Call {
  readonly path: string;
  readonly message: Buffer;
}

const NOTHING = framed(Buffer.alloc(0));
const INFERENCE: Call = { path: INFER, message: framed(inferMessage()) };

/** What clients ask besides inferences. */
const OTHERS: readonly Call[] = [
  { path: '/grpc.health.v1.Health/Check', message: NOTHING },
  { path: `${SERVICE}/ServerLive`, message: NOTHING },
  { path: `${SERVICE}/ServerMetadata`, message: NOTHING },
  { path: `${SERVICE}/ModelMetadata`, message: framed(field(1, SMALL.name)) },
  { path: `${SERVICE}/NoSuchMethod`, message: NOTHING },
];

export const CALL_ATTACKS: readonly Attack[] = [
  { name: 'grpc calls without inference', setting: 'plain', run: (...to) => callOn(...to, OTHERS, 4) },
  {
    name: 'grpc calls without inference',
    setting: 'token',
    run: (...to) => callOn(...to, [INFERENCE, ...OTHERS], 4),
  },
  {
    name: 'grpc 20,000 requests under way',
    setting: 'plain',
    run: (...to) => callOn(...to, [INFERENCE], 200),
  },
];

/** Connections that always have calls under way, each replaced when it is closed. */
async function callOn(
  target: Target,
  tally: Tally,
  untilMs: number,
  calls: readonly Call[],
  connections: number,
): Promise<void> {
  await repeat(connections, untilMs, async () => {
    const socket = await openHttp2(target, tally);
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
