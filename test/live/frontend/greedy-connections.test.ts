import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { newBudgetCounters } from '../../../src/live/frontend/budget.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { HttpClient, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });
const INFER = `POST /v2/models/mlp/infer HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

/** Sends all at once; what it got when the server closed the connection or had answered `answers` times. */
async function sendAll(port: number, bytes: string, answers: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  let heard = '';
  const statuses = () => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  const done = new Promise<void>((resolve) => {
    socket.on('close', resolve);
    socket.on('data', (more: Buffer) => {
      heard += more.toString('latin1');
      if (statuses().length >= answers) resolve();
    });
  });
  socket.write(bytes);
  await done;
  socket.destroy();
  return statuses();
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

  it('is cut off with more, and others are answered', async () => {
    const service = new FakeService([MLP]);
    service.answer = null;
    const { port } = await openHttp(service);
    expect(await sendAll(port, INFER.repeat(500), 500)).toEqual([]);
    expect(service.requests.length).toBeLessThanOrEqual(4);
    expect((await new HttpClient(port).get('/v2/health/live')).status).toBe(200);
  });
});

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
