import type { Socket } from 'node:net';
import { INFER } from './grpc-client.js';
import { open } from './sockets.js';
import type { Tally } from './tally.js';
import type { Target } from './target.js';

/** HTTP/2 by the byte, for what no client library sends. */

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const GOAWAY = 7;

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, 9);
  return bytes;
}

/** All that a connection may ever receive, so that it need not say again and again that there is room. */
export const WIDE_WINDOW = frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0, 0, 0]));

/** Headers of an infer call, each as a literal that enters no table. */
export function inferHeaders(extra: Readonly<Record<string, string>> = {}): Buffer {
  return callHeaders(INFER, extra);
}

/** The same of any method. */
export function callHeaders(path: string, extra: Readonly<Record<string, string>> = {}): Buffer {
  const headers = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': '127.0.0.1',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...extra,
  };
  return Buffer.concat(
    Object.entries(headers).map(([name, value]) =>
      Buffer.concat([Buffer.from([0]), text(name), text(value)]),
    ),
  );
}

function text(value: string): Buffer {
  if (value.length < 127) return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const rest = value.length - 127;
  const length = [127];
  for (let left = rest; ; left >>= 7) {
    if (left < 128) {
      length.push(left);
      break;
    }
    length.push((left & 127) | 128);
  }
  return Buffer.concat([Buffer.from(length), Buffer.from(value)]);
}

/** A connection after its preface, which counts how it ends. Settings: pairs of identifier and value. */
export async function openHttp2(
  target: Target,
  tally: Tally,
  settings: readonly (readonly [number, number])[] = [],
): Promise<Socket | null> {
  const socket = await open(target.grpc, tally, target.tls);
  if (socket === null) return null;
  const payload = Buffer.alloc(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, payload)]));
  socket.on('close', () => {
    if (!left.has(socket)) tally.add('connection closed');
  });
  return socket;
}

/** Those that the attacker closed itself: that says nothing of the server. */
const left = new WeakSet<Socket>();

/** Closes a connection of `openHttp2`. */
export function leave(socket: Socket): void {
  left.add(socket);
  socket.destroy();
}

/** Counts GOAWAYs and resets among what a connection receives. `ended`: called for each stream that the server ends. */
export function countEnds(socket: Socket, tally: Tally, ended: () => void = () => {}): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let at = 0;
    while (rest.length - at >= 9 && rest.length - at >= 9 + rest.readUIntBE(at, 3)) {
      const type = rest[at + 3];
      if (type === GOAWAY) tally.add(`GOAWAY ${rest.readUInt32BE(at + 13)}`);
      if (type === RST_STREAM) tally.add(`RST ${rest.readUInt32BE(at + 9)}`);
      if (type === RST_STREAM || ((type === HEADERS || type === DATA) && (rest[at + 4] & END_STREAM) !== 0))
        ended();
      at += 9 + rest.readUIntBE(at, 3);
    }
    rest = rest.subarray(at);
  });
}
