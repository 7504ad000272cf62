import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { callOnce } from '../grpc-client.js';
import { framed, times } from '../protobuf.js';
import { countStatuses, type Headers, head, open, post, repeatOpen, write } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, LARGE, SMALL, type Target } from '../target.js';

/** HTTP: bodies that are dear to parse or to answer, and connections that are slow, idle, or too many. */

const PATH = `/v2/models/${SMALL.name}/infer`;
const MB = 1_000_000;
const LEVELS = '['.repeat(100_000) + ']'.repeat(100_000);

export const HTTP_ATTACKS: readonly Attack[] = [
  attack('json beyond its limit', (target, ...to) => {
    const millions = (count: number) => Math.ceil(count * target.size * MB);
    return postInTurn(target, ...to, [
      { body: inferJson(`"data":[${'1.5,'.repeat(millions(15.9))}1]`) },
      { body: `{${Array.from({ length: millions(3) }, (_, i) => `"${i}":0`).join(',')}}` },
      { body: '['.repeat(millions(5)) + ']'.repeat(millions(5)) },
    ]);
  }),
  // Below any limit that honest clients need.
  attack('json within its limit', (...to) =>
    postInTurn(...to, [
      { body: `{"inputs":[],"id":${LEVELS}}` },
      { body: inferJson(`"data":${LEVELS}`) },
      { body: `{"a":[${'{},'.repeat(1.29 * MB)}{}]}` },
      { body: inferBody(10_000) },
    ]),
  ),
  attack('gzip bombs of 400 MB', gzipBombs),
  attack('millions of empty pieces', emptyPieces),
  attack('sizes and origins that lie', (...to) => postInTurn(...to, [...lyingSizes(), OTHER_SITE])),
  attack('40 uploads of 60 MB', largeBodies),
  attack('10,000 idle connections', idle),
  attack('500 slow headers, 500 slow bodies', slowSenders),
  attack('200 answers read slowly or never', slowReaders),
  attack('connection churn', churn),
];

function attack(name: string, run: Attack['run']): Attack {
  return { name, setting: 'plain', run };
}

interface Body {
  readonly body: Buffer | string;
  readonly path?: string;
  readonly headers?: Headers;
}

/** Posts each of several bodies again and again, two at a time. */
async function postInTurn(
  target: Target,
  tally: Tally,
  untilMs: number,
  bodies: readonly Body[],
): Promise<void> {
  const bytes = bodies.map(({ body, ...rest }) => ({ path: PATH, ...rest, body: Buffer.from(body) }));
  await Promise.all(bytes.map((one) => repeat(2, untilMs, () => post(target, tally, one))));
}

/** A request with one input, which says its data in some way. */
function inferJson(data: string, shape = `[1,${SMALL.elements}]`): string {
  return `{"inputs":[{"name":"input","datatype":"FP32","shape":${shape},${data}}]}`;
}

/** A right request, which has time, for its one output so many times; 0: for all outputs. */
function inferBody(outputs: number): string {
  const data = `"data":[${'0,'.repeat(SMALL.elements - 1)}0]`;
  const named = Array.from({ length: outputs }, () => '{"name":"output"}').join(',');
  const wanted = outputs === 0 ? '' : `,"outputs":[${named}]`;
  return `{"parameters":{"slo_ms":60000},${inferJson(data).slice(1, -1)}${wanted}}`;
}

async function gzipBombs(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const { grpc, tls, size } = target;
  const body = gzipSync(Buffer.alloc(400 * size * MB, ' '));
  const overGrpc = { body: framed(body, true), headers: { 'grpc-encoding': 'gzip' } };
  await Promise.all([
    repeat(4, untilMs, () => post(target, tally, { path: PATH, body, headers: GZIP })),
    repeat(4, untilMs, () => callOnce(grpc, tls, tally, overGrpc)),
  ]);
}

const GZIP = { 'content-encoding': 'gzip' };

/** 60 MB each: 3 million members of gzip, 12 million blocks of deflate, 12 million chunks of a byte. */
async function emptyPieces(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const stored = Buffer.from([0, 0, 0, 0xff, 0xff]);
  const last = Buffer.from([1, 0, 0, 0xff, 0xff, 0, 0, 0, 1]);
  const pieces = 12 * target.size * MB;
  const blocks = Buffer.concat([Buffer.from([0x78, 1]), times(pieces, stored), last]);
  await Promise.all([
    postInTurn(target, tally, untilMs, [
      { body: times(pieces / 4, gzipSync('')), headers: GZIP },
      { body: blocks, headers: { 'content-encoding': 'deflate' } },
    ]),
    tinyChunks(target, tally, untilMs, pieces),
  ]);
}

/** Binary data that is longer, shorter or of another shape than its request says. */
function lyingSizes(): Body[] {
  const shapes = [`[1,${SMALL.elements}]`, '[4294967296,4294967296]', '[-1,-1]', '[9223372036854775807,2]'];
  const sizes = ['-1', '9007199254740993', '1e300', '4294967300', '18446744073709551615', '0.5'];
  return sizes.flatMap((size, i) => {
    const json = inferJson(`"parameters":{"binary_data_size":${size}}`, shapes[i % shapes.length]);
    const body = Buffer.concat([Buffer.from(json), Buffer.alloc(SMALL.elements * 4)]);
    const lengths = [json.length, size];
    return lengths.map((length) => ({ body, headers: { 'inference-header-content-length': length } }));
  });
}

/** What a page of another site can send from a browser without asking first. */
const OTHER_SITE: Body = {
  body: '{}',
  path: `/v2/repository/models/${LARGE.name}/unload`,
  headers: { origin: 'https://elsewhere.example', 'content-type': 'text/plain' },
};

/** Six bytes on the wire for each of content, on two connections. */
async function tinyChunks(target: Target, tally: Tally, untilMs: number, count: number): Promise<void> {
  const chunks = Buffer.from('1\r\n1\r\n'.repeat(10_000));
  await repeatOpen(target, tally, 2, untilMs, async (socket) => {
    await write(socket, head('POST', PATH, { 'transfer-encoding': 'chunked' }));
    for (let sent = 0; sent < count && performance.now() < untilMs; sent += 10_000) {
      if (!(await write(socket, chunks))) break;
    }
  });
}

/** Requests of 60 MB that are right. Dear, but what the server is for. */
async function largeBodies(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const rows = Math.ceil(96 * target.size);
  const bytes = rows * LARGE.elements * 4;
  const input = {
    ...{ name: 'input', datatype: 'FP32', shape: [rows, LARGE.elements] },
    parameters: { binary_data_size: bytes },
  };
  const parameters = { slo_ms: 60_000, binary_data_output: true };
  const json = JSON.stringify({ parameters, inputs: [input] });
  const body = Buffer.concat([Buffer.from(json), Buffer.alloc(bytes)]);
  const headers = { 'inference-header-content-length': json.length };
  await repeat(40, untilMs, () =>
    post(target, tally, { path: `/v2/models/${LARGE.name}/infer`, body, headers }),
  );
}

async function idle(target: Target, tally: Tally, untilMs: number): Promise<void> {
  let opened = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (opened < 10_000 * target.size && performance.now() < untilMs) {
        opened++;
        const port = opened % 2 === 0 ? target.http : target.grpc;
        const socket = await open(port, tally);
        if (socket === null) continue;
        tally.add('opened');
        socket.on('close', () => tally.add('closed'));
      }
    }),
  );
  await sleepUntil(untilMs);
}

/** A byte a second, of heads without an end and of bodies of 60 MB. */
async function slowSenders({ http, size }: Target, tally: Tally, untilMs: number): Promise<void> {
  const large = { 'inference-header-content-length': 100, 'content-length': 60 * MB };
  const beginnings = [head('POST', PATH).slice(0, -4), head('POST', PATH, large)];
  const opened = beginnings.map((bytes) => openMany(http, tally, 500 * size, bytes));
  const sockets = (await Promise.all(opened)).flat();
  for (const socket of sockets) countStatuses(socket, tally);
  while (performance.now() < untilMs) {
    await sleepUntil(Math.min(untilMs, performance.now() + 1000));
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }
}

/** As many requests as a connection may have under way. Half of the clients read 500 bytes a second, the others none. */
async function slowReaders({ http, size }: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = inferBody(0);
  const request = head('POST', PATH, { 'content-length': body.length }) + body;
  const sockets = await openMany(http, tally, 200 * size, request.repeat(16));
  for (const socket of sockets) socket.pause();
  while (performance.now() < untilMs) {
    for (const socket of sockets.slice(sockets.length / 2)) socket.read(100);
    await sleepUntil(Math.min(untilMs, performance.now() + 200));
  }
}

/** Connections that send something. */
async function openMany(port: number, tally: Tally, count: number, beginning: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = await open(port, tally);
    if (socket === null) continue;
    socket.on('close', () => tally.add('closed'));
    socket.write(beginning);
    sockets.push(socket);
  }
  return sockets;
}

/** Connections with one request, with none, and with a thousand. */
async function churn(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const requests = [head('GET', '/v2/health/live', { connection: 'close' }), head('GET', '/v2').repeat(1000)];
  await repeat(20, untilMs, async (round) => {
    const socket = await open(round % 4 === 3 ? target.grpc : target.http, tally);
    const request = requests[round % 4];
    if (socket === null) return;
    countStatuses(socket, tally);
    if (request === undefined) {
      tally.add('opened and reset');
      socket.resetAndDestroy();
    } else {
      socket.write(request);
      await new Promise((resolve) => socket.once('close', resolve));
    }
  });
}
