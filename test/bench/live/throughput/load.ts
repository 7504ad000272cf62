import { connect, type Socket } from 'node:net';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  inferHeaders,
  SETTINGS,
  WIDE_WINDOW,
} from '../hostile/frames.js';
import { field, framed, varint } from '../hostile/protobuf.js';
import { httpRequest } from './http-request.js';
import { jsonModel, type LoadKind, MODEL, numbersOf } from './model.js';

/** Clients that write the same bytes again and again and hardly look at what they get: cheap next to any server. */

/** Plain data: it goes to a process of its own. */
export interface Load {
  readonly kind: LoadKind;
  readonly port: number;
  /** Requests under way at any time. */
  readonly open: number;
  /** The load ends after so many requests, or so long. */
  readonly requests: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly answered: number;
  /** Of these, what was no answer of the model. */
  readonly failed: number;
  readonly seconds: number;
}

/** Called with each answer; whether to ask again. */
type Answered = (isGood: boolean) => boolean;

/** Streams of one HTTP/2 connection. */
const STREAMS = 8;

/** Sends as much as the server takes. Rejects when it hangs up. */
export async function run({ kind, port, open, requests, seconds }: Load): Promise<LoadResult> {
  const sockets = Array.from({ length: kind === 'grpc' ? Math.ceil(open / STREAMS) : open }, () =>
    connect({ port, host: '127.0.0.1', noDelay: true }),
  );
  const numbers = numbersOf(kind);
  const overHttp = numbers === 0 ? httpRequest() : jsonRequest(numbers);
  let answered = 0;
  let failed = 0;
  const beganMs = performance.now();
  await new Promise<void>((resolve, reject) => {
    const over = setTimeout(resolve, 1000 * seconds);
    const count = (isGood: boolean) => {
      answered++;
      if (!isGood) failed++;
      if (answered < requests) return true;
      clearTimeout(over);
      resolve();
      return false;
    };
    for (const socket of sockets) {
      socket.on('error', reject).on('close', () => reject(new Error('the server hung up')));
      if (kind === 'grpc') askGrpc(socket, count);
      else askHttp(socket, overHttp, count);
    }
  });
  const result = { answered, failed, seconds: (performance.now() - beganMs) / 1000 };
  for (const socket of sockets) socket.destroy();
  return result;
}

function askHttp(socket: Socket, request: Buffer, answered: Answered): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const body = rest.indexOf('\r\n\r\n') + 4;
    if (body < 4) return;
    const head = rest.toString('latin1', 0, body);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    if (rest.length < body + length) return;
    rest = rest.subarray(body + length);
    if (answered(head.startsWith('HTTP/1.1 200 '))) socket.write(request);
  });
  socket.write(request);
}

function askGrpc(socket: Socket, answered: Answered): void {
  let lastStream = -1;
  const served = new Set<number>();
  const ask = () => {
    lastStream += 2;
    const head = frame(HEADERS, END_HEADERS, lastStream, GRPC_HEADERS);
    socket.write(Buffer.concat([head, frame(DATA, END_STREAM, lastStream, GRPC_REQUEST)]));
  };
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let at = 0;
    for (;;) {
      const length = rest.length - at < 9 ? 0 : rest.readUIntBE(at, 3);
      if (rest.length < at + 9 + length) break;
      const [type, flags, stream] = [rest[at + 3], rest[at + 4], rest.readUInt32BE(at + 5)];
      at += 9 + length;
      if (type === SETTINGS && flags === 0) socket.write(frame(SETTINGS, ACKNOWLEDGED, 0));
      if (type === DATA && length >= MODEL.outputBytes) served.add(stream);
      if (type > HEADERS || (flags & END_STREAM) === 0) continue;
      // No answer of the model is shorter than its output.
      if (answered(served.delete(stream))) ask();
    }
    rest = rest.subarray(at);
  });
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0), WIDE_WINDOW]));
  for (let i = 0; i < STREAMS; i++) ask();
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const ACKNOWLEDGED = 1;

const GRPC_HEADERS = inferHeaders();
const GRPC_REQUEST = framed(
  Buffer.concat([
    field(1, MODEL.name),
    field(
      5,
      Buffer.concat([
        field(1, 'input'),
        field(2, 'FP32'),
        field(3, Buffer.concat([1, MODEL.inputBytes / 4].map(varint))),
      ]),
    ),
    field(7, Buffer.alloc(MODEL.inputBytes)),
  ]),
);

/** The numbers are what Python makes of FP32: their digits are those of a double. */
function jsonRequest(numbers: number): Buffer {
  const data = Array.from({ length: numbers }, (_, i) => Math.fround(Math.sin(i) * 2.5));
  const body = JSON.stringify({ inputs: [{ name: 'input', shape: [1, numbers], datatype: 'FP32', data }] });
  const head = [
    `POST /v2/models/${jsonModel(numbers)}/infer HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
