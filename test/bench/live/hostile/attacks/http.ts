import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { countStatuses, type Headers, head, open, post, repeatOpen, write } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, LARGE, SMALL, type Target } from '../target.js';

/** HTTP: bodies that are dear to parse or to answer, and connections that are slow, idle, or send too much. */

const PATH = `/v2/models/${SMALL.name}/infer`;
const MEGA = 1_000_000;

export const HTTP_ATTACKS: readonly Attack[] = [
  attack('json 3 million keys', (...to) => {
    const keys = Array.from({ length: 3 * MEGA }, (_, i) => `"${i}":0`);
    return postAgain(...to, 2, Buffer.from(`{${keys.join(',')}}`));
  }),
  attack('json 100,000 levels in id', (...to) =>
    postAgain(...to, 4, Buffer.from(`{"inputs":[],"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)),
  ),
  // Below any limit that honest clients need.
  attack('json 3.9 MB of small objects', (...to) =>
    postAgain(...to, 10, Buffer.from(`{"a":[${'{},'.repeat(1.29 * MEGA)}{}]}`)),
  ),
  attack('an output named 10,000 times', (...to) => postAgain(...to, 4, Buffer.from(inferBody(10_000)))),
  attack('gzip bomb of 400 MB', (...to) =>
    postAgain(...to, 4, gzipSync(Buffer.alloc(400 * MEGA, ' ')), { 'content-encoding': 'gzip' }),
  ),
  attack('one-byte chunks, 12 million', tinyChunks),
  attack('large binary bodies, honest', largeBodies),
  attack('10,000 idle connections', idle),
  attack('500 slow bodies of 60 MB', slowBodies),
  attack('200 slow readers', slowReaders),
  attack('pipelined requests by the thousand', pipeline),
];

function attack(name: string, run: Attack['run']): Attack {
  return { name, setting: 'plain', run };
}

function postAgain(
  target: Target,
  tally: Tally,
  untilMs: number,
  lanes: number,
  body: Buffer,
  headers: Headers = {},
): Promise<void> {
  return repeat(lanes, untilMs, () => post(target, tally, { path: PATH, body, headers }));
}

/** A right request, which has time, for its one output so many times; 0: for all outputs. */
function inferBody(outputs: number): string {
  const data = '0,'.repeat(SMALL.elements - 1);
  const input = `{"name":"input","datatype":"FP32","shape":[1,${SMALL.elements}],"data":[${data}0]}`;
  const named = Array.from({ length: outputs }, () => '{"name":"output"}').join(',');
  return `{"parameters":{"slo_ms":60000},"inputs":[${input}]${outputs === 0 ? '' : `,"outputs":[${named}]`}}`;
}

/** 72 MB on the wire for 12 MB of content, on two connections. */
async function tinyChunks(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const chunks = Buffer.from('1\r\n1\r\n'.repeat(10_000));
  await repeatOpen(target, tally, 2, untilMs, async (socket) => {
    await write(socket, head('POST', PATH, { 'transfer-encoding': 'chunked' }));
    for (let sent = 0; sent < 12 * MEGA && performance.now() < untilMs; sent += 10_000) {
      if (!(await write(socket, chunks))) break;
    }
  });
}

/** Requests of 60 MB that are right. Dear, but what the server is for. */
async function largeBodies(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const rows = 96;
  const bytes = rows * LARGE.elements * 4;
  const input = {
    ...{ name: 'input', datatype: 'FP32', shape: [rows, LARGE.elements] },
    parameters: { binary_data_size: bytes },
  };
  const json = JSON.stringify({ parameters: { slo_ms: 60_000 }, inputs: [input] });
  const body = Buffer.concat([Buffer.from(json), Buffer.alloc(bytes)]);
  const headers = { 'inference-header-content-length': json.length };
  await repeat(20, untilMs, () =>
    post(target, tally, { path: `/v2/models/${LARGE.name}/infer`, body, headers }),
  );
}

async function idle(target: Target, tally: Tally, untilMs: number): Promise<void> {
  let opened = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (opened < 10_000 && performance.now() < untilMs) {
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

/** A byte a second after the head. */
async function slowBodies(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const beginning = head('POST', PATH, { 'content-length': 60 * MEGA });
  const sockets = await openMany(target.http, tally, 500, beginning);
  for (const socket of sockets) countStatuses(socket, tally);
  while (performance.now() < untilMs) {
    await sleepUntil(Math.min(untilMs, performance.now() + 1000));
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }
}

async function slowReaders(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = inferBody(0);
  const request = head('POST', PATH, { 'content-length': body.length }) + body;
  const sockets = await openMany(target.http, tally, 200, request.repeat(200));
  for (const socket of sockets) socket.pause();
  while (performance.now() < untilMs) {
    for (const socket of sockets) socket.read(100);
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

async function pipeline(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const requests = head('GET', `/v2/models/${SMALL.name}`).repeat(1000);
  await repeatOpen(target, tally, 4, untilMs, async (socket) => {
    for (let i = 0; i < 50 && performance.now() < untilMs && (await write(socket, requests)); i++);
  });
}
