import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { InferenceRequest } from '../../../../src/live/service.js';
import {
  callHeaders,
  countEnds,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  SETTINGS,
  WIDE_WINDOW,
} from '../../../bench/live/hostile/frames.js';
import { Tally } from '../../../bench/live/hostile/tally.js';
import { echo, echoModel, FakeService } from '../fake-service.js';
import { openGrpc } from '../fixtures.js';
import { serializeInfer } from '../grpc-client.js';

/** Connections that each have as many calls under way as they may. */
const CONNECTIONS = 40;
const CALLS = 100;
const ROUNDS = 4;
const PATIENCE = { interval: 1 };
const PATH = '/inference.GRPCInferenceService/ModelInfer';
const MODEL = echoModel('m', false, [['x', 'FP32', [1]]]);

/** The neighbor is known by its value. */
const NEIGHBORS = 7;

function infer(value: number): Buffer {
  const message = serializeInfer({
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [value] } }],
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const HEADS = callHeaders(PATH);
const BODY = infer(1);

function call(id: number): Buffer {
  return Buffer.concat([frame(HEADERS, END_HEADERS, id, HEADS), frame(DATA, END_STREAM, id, BODY)]);
}

/** Has so many calls under way, each replaced as soon as it has ended. Resolves when all have ended. */
function keepBusy(port: number, calls: number): { socket: Socket; done: Promise<void> } {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  let sent = 0;
  let ended = 0;
  const next = () => socket.write(call(2 * sent++ + 1));
  const done = new Promise<void>((resolve) => {
    countEnds(socket, new Tally(), () => {
      ended++;
      if (sent < calls) next();
      else if (ended === calls) resolve();
    });
  });
  socket.resume();
  socket.cork();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([frame(SETTINGS, 0, 0), WIDE_WINDOW]));
  for (let i = 0; i < CALLS; i++) next();
  socket.uncork();
  return { socket, done };
}

async function ask(client: ClientHttp2Session): Promise<unknown> {
  const stream = client.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let status: unknown;
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status'];
  });
  stream.resume();
  stream.end(infer(NEIGHBORS));
  await once(stream, 'close');
  return status;
}

async function connected(port: number, localAddress = '127.0.0.1'): Promise<ClientHttp2Session> {
  const client = connectHttp2(`http://127.0.0.1:${port}`, {
    createConnection: () => connect({ port, host: '127.0.0.1', localAddress }),
  });
  onTestFinished(() => client.destroy());
  await once(client, 'remoteSettings');
  return client;
}

it('connections with many calls let others in between', async () => {
  const service = new FakeService([MODEL]);
  let theirs = 0;
  service.answer = (request: InferenceRequest) => {
    if (Buffer.from(request.inputs[0]).readFloatLE() !== NEIGHBORS) theirs++;
    return echo(request);
  };
  const { port } = await openGrpc(service, { maxClientRequests: null });
  const neighbor = await connected(port);
  const all = CALLS * ROUNDS * CONNECTIONS;
  const busy = Array.from({ length: CONNECTIONS }, () => keepBusy(port, CALLS * ROUNDS));
  await expect.poll(() => theirs, PATIENCE).toBeGreaterThan(0);
  /** Calls of the others, by call of the neighbor. */
  const between: number[] = [];
  for (let before = theirs; theirs < all; before = theirs) {
    expect(await ask(neighbor)).toBe('0');
    between.push(theirs - before);
  }
  await Promise.all(busy.map(({ done }) => done));
  expect(theirs).toBe(all);
  // A call takes a few turns of the event loop. In each, what one connection has sent is begun; there are 40 of them.
  expect(Math.max(...between)).toBeLessThan(10 * CALLS);
  expect(between.length).toBeGreaterThan(CONNECTIONS / 2);
});

// Other systems have one loopback address.
it.runIf(process.platform === 'linux')('so they do with the first call of a client that is new', async () => {
  const service = new FakeService([MODEL]);
  const { port } = await openGrpc(service, { maxClientRequests: null });
  const busy = Array.from({ length: CONNECTIONS }, () => keepBusy(port, CALLS * ROUNDS));
  // One connection is accepted in a turn, in their order.
  await expect.poll(() => service.requests.length, PATIENCE).toBeGreaterThan(CONNECTIONS * CALLS);
  const before = service.requests.length;
  expect(await ask(await connected(port, '127.0.0.2'))).toBe('0');
  expect(service.requests.length - before).toBeLessThan(20 * CALLS);
  await Promise.all(busy.map(({ done }) => done));
});

// Other systems have one loopback address.
it.runIf(process.platform === 'linux')(
  'calls that are read at once begin a few in each turn, and all of them',
  async () => {
    const service = new FakeService([MODEL]);
    service.answer = null;
    const { port } = await openGrpc(service);
    // A client that is alone has longer turns.
    await connected(port, '127.0.0.2');
    const { socket, done } = keepBusy(port, CALLS);
    const perTurn: number[] = [];
    for (let seen = 0; seen < CALLS; seen = service.requests.length) {
      await new Promise((resolve) => setImmediate(resolve));
      perTurn.push(service.requests.length - seen);
    }
    // Those of the turn in which they were read, and of the next one.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * 16);
    for (const request of service.requests) request.done(echo(request));
    await done;
    socket.destroy();
  },
);
