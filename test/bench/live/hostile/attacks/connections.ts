import type { Socket } from 'node:net';
import { countStatuses, head, open, post, repeatOpen, write } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, LARGE, SMALL, type Target } from '../target.js';

/** Connections that are slow, idle, too many, or that send after they were refused. */

const PATH = `/v2/models/${SMALL.name}/infer`;

export const CONNECTION_ATTACKS: readonly Attack[] = [
  { name: '10,000 idle connections', setting: 'plain', run: idle },
  { name: 'connection churn', setting: 'plain', run: churn },
  {
    name: '500 slow heads',
    setting: 'plain',
    run: (...to) => slow(...to, 500, head('POST', PATH).slice(0, -4)),
  },
  {
    name: '500 slow bodies of 60 MB',
    setting: 'plain',
    run: (...to) => slow(...to, 500, head('POST', PATH, { 'content-length': 60_000_000 })),
  },
  { name: '40 that never read', setting: 'plain', run: neverRead },
  { name: '200 slow readers', setting: 'plain', run: slowReaders },
  { name: '40 that send 60 MB, then stop', setting: 'plain', run: holdBodies },
  { name: 'large bodies that are too large', setting: 'plain', run: sendOnAfter413 },
  { name: 'large binary bodies, honest', setting: 'plain', run: largeBodies },
  { name: 'header bombs', setting: 'plain', run: headerBombs },
  { name: 'pipelined requests by the thousand', setting: 'plain', run: pipeline },
  { name: 'half-closed requests', setting: 'plain', run: halfClosed },
  { name: 'cross-site posts', setting: 'plain', run: crossSite },
];

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

async function churn(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const probe = head('GET', '/v2/health/live', { connection: 'close' });
  await repeat(20, untilMs, async (round) => {
    const socket = await open(round % 4 === 3 ? target.grpc : target.http, tally);
    if (socket === null) return;
    if (round % 2 === 0) {
      countStatuses(socket, tally);
      socket.write(probe);
      await new Promise((resolve) => socket.once('close', resolve));
    } else {
      tally.add('opened and reset');
      socket.resetAndDestroy();
    }
  });
}

/** A byte a second after the beginning. */
async function slow(
  target: Target,
  tally: Tally,
  untilMs: number,
  count: number,
  beginning: string,
): Promise<void> {
  const sockets = await openMany(target.http, tally, count, beginning);
  while (performance.now() < untilMs) {
    await sleepUntil(Math.min(untilMs, performance.now() + 1000));
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }
}

/** Connections that send something; unless `reads`, they are paused. */
async function openMany(
  port: number,
  tally: Tally,
  count: number,
  beginning: string,
  reads = true,
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = await open(port, tally);
    if (socket === null) continue;
    if (reads) countStatuses(socket, tally);
    else socket.pause();
    socket.on('close', () => tally.add('closed'));
    socket.write(beginning);
    sockets.push(socket);
  }
  return sockets;
}

function inferRequest(outputs: number): string {
  const data = '0,'.repeat(SMALL.elements - 1);
  const input = `{"name":"input","datatype":"FP32","shape":[1,${SMALL.elements}],"data":[${data}0]}`;
  const named = Array.from({ length: outputs }, () => '{"name":"output"}').join(',');
  const body = `{"parameters":{"slo_ms":60000},"inputs":[${input}]${outputs === 0 ? '' : `,"outputs":[${named}]`}}`;
  return head('POST', PATH, { 'content-length': body.length }) + body;
}

/** Clients that ask for much and read nothing: for one output many times, then for many answers. */
async function neverRead(target: Target, tally: Tally, untilMs: number): Promise<void> {
  await openMany(target.http, tally, 40, inferRequest(20_000) + inferRequest(0).repeat(2000), false);
  await sleepUntil(untilMs);
}

async function slowReaders(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const sockets = await openMany(target.http, tally, 200, inferRequest(0).repeat(200), false);
  while (performance.now() < untilMs) {
    for (const socket of sockets) socket.read(100);
    await sleepUntil(Math.min(untilMs, performance.now() + 200));
  }
}

/** Bodies that are announced and sent but for the last byte. */
async function holdBodies(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const piece = Buffer.alloc(1_000_000);
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = await open(target.http, tally);
      if (socket === null) return;
      countStatuses(socket, tally);
      socket.on('close', () => tally.add('closed'));
      socket.write(head('POST', PATH, { 'content-length': 60_000_001 }));
      for (let sent = 0; sent < 60 && performance.now() < untilMs; sent++) {
        if (!(await write(socket, piece))) return;
      }
    }),
  );
  await sleepUntil(untilMs);
}

async function sendOnAfter413(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const piece = Buffer.alloc(1_000_000);
  await repeatOpen(target, tally, 10, untilMs, async (socket) => {
    socket.write(head('POST', PATH, { 'content-length': 1_000_000_000 }));
    for (let sent = 0; sent < 1000 && performance.now() < untilMs && (await write(socket, piece)); sent++);
  });
}

/** Requests of 60 MB that are right. Dear, but what the server is for. */
async function largeBodies(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const rows = 96;
  const bytes = rows * LARGE.elements * 4;
  const json = JSON.stringify({
    parameters: { slo_ms: 60_000 },
    inputs: [
      {
        name: 'input',
        datatype: 'FP32',
        shape: [rows, LARGE.elements],
        parameters: { binary_data_size: bytes },
      },
    ],
  });
  const body = Buffer.concat([Buffer.from(json), Buffer.alloc(bytes)]);
  const headers = { 'inference-header-content-length': json.length };
  await repeat(20, untilMs, () =>
    post(target, tally, { path: `/v2/models/${LARGE.name}/infer`, body, headers }),
  );
}

async function headerBombs(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const line = `x: ${'a'.repeat(8000)}\r\n`;
  await repeatOpen(target, tally, 20, untilMs, async (socket) => {
    socket.write(head('GET', '/v2/health/live').slice(0, -2));
    for (let i = 0; i < 200 && (await write(socket, line)); i++);
  });
}

async function pipeline(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const requests = head('GET', `/v2/models/${SMALL.name}`).repeat(1000);
  await repeatOpen(target, tally, 4, untilMs, async (socket) => {
    for (let i = 0; i < 50 && performance.now() < untilMs && (await write(socket, requests)); i++);
  });
}

/** Asks, says that it has said all, and waits for the answer. */
async function halfClosed(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const request = inferRequest(0);
  await repeatOpen(target, tally, 8, untilMs, async (socket) => {
    let answered = false;
    socket.on('data', () => {
      answered = true;
    });
    socket.end(request);
    await new Promise((resolve) => socket.once('close', resolve));
    if (!answered) tally.add('no answer');
  });
}

/** What a page of another site can send from a browser without asking first. */
async function crossSite(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const headers = { origin: 'https://elsewhere.example', 'content-type': 'text/plain' };
  await repeat(2, Math.min(untilMs, performance.now() + 1000), () =>
    post(target, tally, {
      path: `/v2/repository/models/${LARGE.name}/unload`,
      body: Buffer.from('{}'),
      headers,
    }),
  );
}
