import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KIB, MIB } from '../../../src/base/units.js';
import { newBudgetCounters } from '../../../src/live/frontend/shared-counts.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { HttpClient, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });
const LIVE = 'GET /v2/health/live HTTP/1.1\r\nhost: a\r\n\r\n';
const LAST = 'GET /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\n\r\n';
const CHUNKED = `POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const INFER = `POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

/** Sends all at once; what it got when the server closed the connection or had answered `answers` times. */
async function sendAll(port: number, bytes: string, answers: number, answered = () => {}): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  let heard = '';
  const statuses: string[] = [];
  const done = new Promise<void>((resolve) => {
    socket.on('close', resolve);
    socket.on('data', (more: Buffer) => {
      heard += more.toString('latin1');
      const whole = heard.lastIndexOf('\r\n');
      for (const [, status] of heard.slice(0, whole).matchAll(/HTTP\/1\.1 (\d+)/g)) {
        statuses.push(status);
        answered();
      }
      heard = heard.slice(whole);
      if (statuses.length >= answers) resolve();
    });
  });
  socket.write(bytes);
  await done;
  socket.destroy();
  return statuses;
}

/** A request whose JSON has `pad` spaces, as it is or in chunks. */
function padded(id: number, pad: number, chunk: number | null): string {
  const body = `${' '.repeat(pad)}${JSON.stringify({ id: `${id}`, ...JSON.parse(BODY) })}`;
  const head = 'POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\n';
  if (chunk === null) return `${head}content-length: ${body.length}\r\n\r\n${body}`;
  // A body has a limited number of chunks.
  const size = Math.max(chunk, Math.ceil(body.length / 20));
  let chunks = '';
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size);
    chunks += `${part.length.toString(16)}\r\n${part}\r\n`;
  }
  return `${head}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
}

/** The ids that so many answers name, or those until the connection closes. */
async function answersTo(socket: Socket, count: number): Promise<number[]> {
  let heard = '';
  const ids = () => [...heard.matchAll(/"id":"(\d+)"/g)].map(([, id]) => Number(id));
  await new Promise<void>((resolve) => {
    socket.on('close', resolve);
    socket.on('error', () => {});
    socket.on('data', (more: Buffer) => {
      heard += more.toString('latin1');
      if (ids().length >= count) resolve();
    });
  });
  return ids();
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !isTrue(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isTrue()).toBe(true);
}

describe('a connection that does not wait for its answers', () => {
  it('gets as many as it asked for, if these are few', async () => {
    const { port } = await openHttp(new FakeService([MLP]));
    expect(await sendAll(port, INFER.repeat(50), 50)).toEqual(new Array(50).fill('200'));
  });

  it('has a few of them under way at a time', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { port } = await openHttp(service);
    const statuses = sendAll(port, INFER.repeat(50), 50);
    for (let answered = 0; answered < 50; answered++) {
      await until(() => service.requests.length > answered);
      expect(service.requests.length - answered).toBeLessThanOrEqual(4);
      service.requests[answered].done(echo(service.requests[answered]));
    }
    expect(await statuses).toEqual(new Array(50).fill('200'));
  });

  it.each([
    ['at once', 0],
    ['after it waited for answers', 3],
  ])('has most of what it sends ahead unparsed, %s', async (_, before) => {
    const service = new FakeService([MLP]);
    const budget = { counters: newBudgetCounters(1), slot: 0 };
    const usedKib = () => new Int32Array(budget.counters)[0];
    const { port } = await openHttp(service, { budget });
    const socket = connect(port, '127.0.0.1');
    for (let i = 0; i < before; i++) {
      socket.write(INFER);
      await once(socket, 'data');
    }
    service.answer = null;
    socket.write(INFER.repeat(300));
    await until(() => service.requests.length === before + 4 && usedKib() >= 64);
    // The bytes that the system gave at once, a request that waits and four that are under way.
    expect(usedKib()).toBeLessThan(100);
    socket.destroy();
  });

  it('is not read while its requests wait, even if Node resumed it in the same turn', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { port } = await openHttp(service);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const served: Socket[] = [];
    const resume = (message: unknown) => {
      const { socket: at } = message as { socket: Socket };
      // As it does when a body is wanted. It goes on reading only after this turn.
      at.pause();
      at.resume();
      served.push(at);
    };
    subscribe('http.server.request.start', resume);
    onTestFinished(() => void unsubscribe('http.server.request.start', resume));
    for (let i = 0; i < 20; i++) socket.write(INFER.repeat(2000));
    await until(() => service.requests.length === 4);
    await new Promise((resolve) => setTimeout(resolve, 100));
    // What the system gave at once, and one more piece.
    expect(served[0].bytesRead).toBeLessThanOrEqual(128 * KIB);
    socket.destroy();
  });

  it('holds no memory once it has gone, whatever waited for its first answer', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const counters = newBudgetCounters(1);
    const { port } = await openHttp(service, { budget: { counters, slot: 0 } });
    const socket = connect(port, '127.0.0.1');
    socket.write(INFER.repeat(4));
    await until(() => service.requests.length === 4);
    const [first, second, third] = service.requests;
    // Answered, but not before the first.
    second.done(echo(second));
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    third.done(echo(third));
    first.done(echo(first));
    service.requests[3].done(echo(service.requests[3]));
    await until(() => new Int32Array(counters)[0] === 0);
  });

  it.each([
    ['inferences', INFER, 1500],
    ['requests without a body', LIVE, 5000],
    ['refused ones', `GET /nothing HTTP/1.1\r\nhost: a\r\n\r\n`, 3000],
    ['bodies in chunks', CHUNKED, 1500],
  ])('gets all of them, in their order, if these are many: %s', async (_, request, count) => {
    const { port } = await openHttp(new FakeService([MLP]));
    const statuses = await sendAll(port, request.repeat(count) + LAST, count + 1);
    expect(statuses).toHaveLength(count + 1);
    expect(new Set(statuses.slice(0, -1)).size).toBe(1);
    expect(statuses.at(-1)).toBe('405');
  });

  it('lets others in between', async () => {
    const { port } = await openHttp(new FakeService([MLP]));
    const neighbor = connect(port, '127.0.0.1');
    await once(neighbor, 'connect');
    let answers = 0;
    const many = Array.from({ length: 100 }, () => sendAll(port, LIVE.repeat(120), 120, () => answers++));
    await expect.poll(() => answers).toBeGreaterThan(0);
    /** Of the others, by request of the neighbor. */
    const between: number[] = [];
    for (let before = answers; answers < 100 * 120; before = answers) {
      neighbor.write(INFER);
      const [answer] = await once(neighbor, 'data');
      expect(`${answer}`).toMatch(/^HTTP\/1\.1 200 /);
      between.push(answers - before);
    }
    neighbor.destroy();
    // A request and its answer take a few turns of the event loop, each of which has about 16 of theirs.
    expect(Math.max(...between)).toBeLessThan(300);
    expect(new Set((await Promise.all(many)).flat())).toEqual(new Set(['200']));
  });

  it('gets each answer for its own request, whatever pieces these come in', async () => {
    const { port } = await openHttp(new FakeService([MLP]));
    const piece = fc.oneof(fc.nat(40), fc.nat(3000), fc.nat(200_000));
    const request = fc.record({ pad: piece, chunk: fc.option(fc.integer({ min: 1, max: 5000 })) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 30 }),
        fc.array(piece),
        async (asked, cuts) => {
          const bytes = asked.map(({ pad, chunk }, id) => padded(id, pad, chunk)).join('');
          const socket = connect(port, '127.0.0.1');
          socket.setNoDelay(true);
          const answers = answersTo(socket, asked.length);
          let at = 0;
          for (const cut of cuts) {
            socket.write(bytes.slice(at, at + cut));
            at += cut;
            await new Promise((resolve) => setImmediate(resolve));
          }
          socket.write(bytes.slice(at));
          expect(await answers).toEqual(asked.map((_, id) => id));
          socket.destroy();
        },
      ),
      { numRuns: 30 },
    );
  });

  it('is not read while its requests wait; others are answered', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { port } = await openHttp(service);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const most = 2000 * INFER.length;
    for (let sent = 0; sent < 40; sent++) socket.write(INFER.repeat(2000));
    await expect.poll(() => service.requests.length).toBe(4);
    expect((await new HttpClient(port).get('/v2/health/live')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(service.requests.length).toBe(4);
    // What the system holds for both sides, at most.
    expect(socket.writableLength).toBeGreaterThan(most);
    for (const request of service.requests.splice(0)) request.done(echo(request));
    await expect.poll(() => service.requests.length).toBe(4);
    socket.destroy();
  });

  it('learns it when there is no memory for more, and what waits is given back', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const budget = { counters: newBudgetCounters(1), slot: 0 };
    const usedKib = () => new Int32Array(budget.counters)[0];
    const { port } = await openHttp(service, { budget, maxInflightBytes: 128 * KIB, maxBodyBytes: KIB });
    const heard = sendAll(port, INFER.repeat(330), 400);
    await expect.poll(() => service.requests.length).toBe(4);
    const answers = setInterval(() => {
      for (const request of service.requests.splice(0)) request.done(echo(request));
    }, 10);
    const statuses = await heard;
    clearInterval(answers);
    expect(statuses.at(-1)).toBe('503');
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set(['200']));
    await expect.poll(usedKib).toBe(0);
  });

  it('gives back what waited when it is cut', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const budget = { counters: newBudgetCounters(1), slot: 0 };
    const usedKib = () => new Int32Array(budget.counters)[0];
    const { port } = await openHttp(service, { budget });
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(INFER.repeat(300));
    await expect.poll(() => service.requests.length).toBe(4);
    const held = usedKib();
    expect(held).toBeGreaterThan(64);
    socket.resetAndDestroy();
    for (const request of service.requests.splice(0, 1)) request.done(echo(request));
    await expect.poll(usedKib).toBeLessThan(held / 2);
    for (const request of service.requests.splice(0)) request.done(echo(request));
    await expect.poll(usedKib).toBe(0);
  });
});

it('chunks of a byte are read a few in each turn, however they come', async () => {
  const { port } = await openHttp(new FakeService([MLP]));
  /** Pieces of bodies that Node's parser handed over in one turn of the event loop, at most. */
  let most = 0;
  let inTurn = 0;
  const count = (message: unknown) => {
    const { request } = message as { request: { push(piece: unknown): boolean } };
    const { push } = request;
    request.push = function (piece) {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, inTurn);
      return push.call(this, piece);
    };
  };
  subscribe('http.server.request.start', count);
  onTestFinished(() => void unsubscribe('http.server.request.start', count));
  const head = 'POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
  const spaces = '1\r\n \r\n'.repeat(3500);
  const rest = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  const sockets = Array.from({ length: 5 }, () => connect(port, '127.0.0.1'));
  const answers = sockets.map((socket) => once(socket, 'data'));
  // With the headers, and apart from them.
  for (const [i, socket] of sockets.entries()) {
    socket.write(i % 2 === 0 ? head : head + spaces + rest);
    if (i % 2 === 0) setTimeout(() => socket.write(spaces + rest), 50);
  }
  for (const [answer] of await Promise.all(answers)) expect(`${answer}`).toMatch(/^HTTP\/1\.1 200 /);
  for (const socket of sockets) socket.destroy();
  expect(most).toBeLessThan(500);
});

it('many large bodies in chunks all come through, and little of them is read ahead', async () => {
  const { port } = await openHttp(new FakeService([MLP]));
  /** What Node had read of a body before anyone wanted it, at most. */
  let aheadBytes = 0;
  const watch = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    const { push } = request;
    request.push = function (piece) {
      const goesOn = push.call(this, piece);
      aheadBytes = Math.max(aheadBytes, this.readableLength);
      return goesOn;
    };
  };
  subscribe('http.server.request.start', watch);
  onTestFinished(() => void unsubscribe('http.server.request.start', watch));
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
  const answers = sockets.map((socket) => answersTo(socket, 1));
  for (const [id, socket] of sockets.entries()) socket.write(padded(id, 2 * MIB, 50_000));
  expect((await Promise.all(answers)).flat()).toEqual(sockets.map((_, id) => id));
  for (const socket of sockets) socket.destroy();
  expect(aheadBytes).toBeLessThan(64 * KIB);
}, 60_000);

it('chunks of a byte are refused, and not read for long after', async () => {
  const { port } = await openHttp(new FakeService([MLP]));
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  let sentChunks = 0;
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.toString('latin1');
  });
  const closed = new Promise<boolean>((resolve) => socket.on('close', () => resolve(false)));
  socket.write('POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  const chunks = '1\r\n1\r\n'.repeat(1000);
  const most = 1_000_000;
  while (sentChunks < most) {
    sentChunks += 1000;
    if (socket.write(chunks)) continue;
    const drained = new Promise<boolean>((resolve) => socket.once('drain', () => resolve(true)));
    if (!(await Promise.race([drained, closed]))) break;
  }
  expect(sentChunks).toBeLessThan(most);
  expect(heard).toMatch(/^HTTP\/1\.1 400 .*chunks of less than 32 bytes/s);
});
