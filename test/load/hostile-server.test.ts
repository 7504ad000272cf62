import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { unknownModel } from '../../src/load/description.js';
import { describeServer, openTarget } from '../../src/load/open-target.js';
import type { TensorDescription } from '../../src/load/tensors.js';
import { GrpcServer } from './grpc-server.js';
import { HttpServer } from './http-server.js';

const OPTIONS = { models: ['a'], seed: 1 };
const READY = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
const ENDLESS = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

afterEach(() => {
  vi.useRealTimers();
});

/** Says something to each connection that it gets a request from, the same each time. */
async function serve(say: (socket: Socket, request: string) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (request) => say(socket, request.toString('latin1')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

function flood(socket: Socket, piece: string): void {
  while (!socket.destroyed && socket.write(piece));
  if (!socket.destroyed) socket.once('drain', () => flood(socket, piece));
}

describe('a server that does not stop talking', () => {
  const chunk = `ffff\r\n${' '.repeat(0xffff)}\r\n`;

  it.each([
    ['a body without end', ENDLESS, chunk],
    ['headers without end', 'HTTP/1.1 200 OK\r\n', 'x: y\r\n'],
    ['provisional answers without end', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('is left: %s', async (_, head, piece) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const url = await serve((socket) => {
      socket.write(head);
      flood(socket, piece);
    });
    const asked = describeServer(url.href, OPTIONS);
    const later = setInterval(() => vi.advanceTimersByTime(2000), 100);
    onTestFinished(() => clearInterval(later));
    await expect(asked).rejects.toMatchObject({ code: 'E_SERVER' });
  });

  it('is left when it talks slowly', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = 0;
    const url = await serve((socket) => {
      asked++;
      socket.write(ENDLESS);
      const drip = setInterval(() => socket.write('1\r\n \r\n'), 5);
      socket.on('close', () => clearInterval(drip));
    });
    const described = describeServer(url.href, OPTIONS);
    const later = setInterval(() => asked > 0 && vi.advanceTimersByTime(1000), 20);
    onTestFinished(() => clearInterval(later));
    await expect(described).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringContaining('no answer to v2/health/ready in 10 s'),
    });
  });
});

describe('a server that describes what cannot be', () => {
  const x = { name: 'x', datatype: 'FP32', shape: [1, 4] };
  it.each([
    ['a tensor larger than memory', [{ ...x, shape: [1e9, 1e9] }]],
    ['a product beyond all numbers', [{ ...x, shape: new Array(90).fill(1e15) }]],
    [
      'many large tensors',
      Array.from({ length: 300 }, (_, i) => ({ ...x, datatype: 'INT32', shape: [1e6 + i] })),
    ],
  ])('is refused over HTTP and gRPC: %s', async (_, inputs) => {
    for (const url of await bothServers(inputs))
      await expect(openTarget(url, OPTIONS)).rejects.toMatchObject({
        code: 'E_UNKNOWN_MODEL',
        message: expect.stringMatching(
          /^model a: input x is (FP|INT)32 \[.*all inputs together may have 512 MiB/,
        ),
      });
  });

  it('is refused where only JSON is accepted, and that would be too long', async () => {
    const { url } = await HttpServer.open({ models: ['a'], inputs: [{ ...x, shape: [20_000_000] }] });
    await expect(openTarget(url, OPTIONS)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringContaining('input x has 80000000 bytes, and the server accepts only JSON'),
    });
  });

  it.each([
    ['too many dimensions', [{ ...x, shape: new Array(1000).fill(1) }]],
    ['fractions', [{ ...x, shape: [1.5] }]],
  ])('is refused: inputs of %s', async (_, inputs) => {
    const { url } = await HttpServer.open({ models: ['a'], inputs: inputs as TensorDescription[] });
    await expect(openTarget(url, OPTIONS)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringContaining('does not describe the inputs of model a'),
    });
  });

  it('does not write to the terminal with names', async () => {
    const evil = { name: '\u001b[2Jx', datatype: 'BF16\u001b]0;', shape: [1] };
    for (const url of await bothServers([evil])) {
      const { message } = await openTarget(url, OPTIONS).then(
        () => new Error('opened'),
        (error: Error) => error,
      );
      expect(message).toMatch(/^model a: input \[2Jx is of type BF16 \]0;/);
    }
    const names = Array.from({ length: 1000 }, (_, i) => `\u001b[2J${i}`);
    const { message } = unknownModel('a', names);
    expect(message).toContain('and 980 more');
    expect(message).not.toContain('\u001b');
  });

  it('has an index of anything', async () => {
    const json = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    const url = await serve((socket, request) => {
      if (request.includes('/v2/models/a')) socket.write('HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n');
      else socket.write(request.startsWith('POST') ? json('[null,1,"b",{"name":{}}]') : READY);
    });
    await expect(describeServer(url.href, OPTIONS)).rejects.toMatchObject({ code: 'E_UNKNOWN_MODEL' });
  });
});

async function bothServers(inputs: readonly object[]): Promise<string[]> {
  const http = await HttpServer.open({ models: ['a'], extensions: ['binary_tensor_data'], inputs });
  const grpc = await GrpcServer.open({ inputs });
  return [http.url, grpc.url];
}
