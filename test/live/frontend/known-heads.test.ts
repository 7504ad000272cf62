import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { QuickRequest } from '../../../src/live/frontend/quick-request.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { openHttp } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const PATH = '/v2/models/mlp/infer';
const NUMBERS = [1, 2, 3, 4];

function request(numbers: readonly number[] = NUMBERS, path = PATH, headers = ''): string {
  const tensor = { name: 'x', datatype: 'FP32', shape: [1, 4], data: numbers };
  const body = JSON.stringify({ inputs: [tensor] });
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** A connection, which gives back answers one by one. */
class Client {
  private got = '';
  private heard: () => void = () => {};
  isOver = false;

  constructor(private readonly socket: Socket) {
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.got += bytes.toString('latin1');
      this.heard();
    });
    this.socket.on('close', () => {
      this.isOver = true;
      this.heard();
    });
    this.socket.on('end', () => this.socket.end());
  }

  send(text: string): void {
    this.socket.write(text);
  }

  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The next answer without its date; '': the server has hung up. */
  async answer(): Promise<string> {
    for (;;) {
      const head = this.got.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(this.got.slice(0, head))?.[1]);
      if (head >= 4 && this.got.length >= head + length) {
        const answer = this.got.slice(0, head + length);
        this.got = this.got.slice(head + length);
        return answer.replace(/Date: .* GMT\r\n/, 'Date\r\n');
      }
      if (this.isOver) return this.got;
      await new Promise<void>((resolve) => {
        this.heard = resolve;
      });
    }
  }

  async ask(text: string): Promise<string> {
    this.send(text);
    return this.answer();
  }
}

let clients: Client[] = [];
let quick: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  quick = vi.spyOn(QuickRequest.prototype, 'writeHead');
});
afterEach(() => {
  for (const client of clients) client.destroy();
  clients = [];
  vi.restoreAllMocks();
});

async function open(options: Parameters<typeof openHttp>[1] = {}) {
  const service = new FakeService([MLP]);
  const { port, frontend } = await openHttp(service, options);
  const where = { port, host: '127.0.0.1', allowHalfOpen: true };
  const { tls = null } = options;
  const client = new Client(tls === null ? connect(where) : connectTls({ ...where, ca: tls.cert }));
  clients.push(client);
  return { service, client, frontend };
}

/** From the third request on its head is known. */
async function known(client: Client, text = request()): Promise<string> {
  const first = await client.ask(text);
  expect(await client.ask(text)).toBe(first);
  expect(quick).not.toHaveBeenCalled();
  return first;
}

describe('a request with the head of the one before', () => {
  it('gets the same answer, to the byte', async () => {
    const { client } = await open();
    const first = await known(client);
    expect(first).toContain('"data":[1,2,3,4]');
    expect(await client.ask(request())).toBe(first);
    expect(await client.ask(request())).toBe(first);
    expect(quick).toHaveBeenCalledTimes(2);
  });

  it('may have another body, of another length', async () => {
    const { client } = await open();
    await known(client);
    expect(await client.ask(request([10.5, 20, 300, 4000]))).toContain('"data":[10.5,20,300,4000]');
    expect(await client.ask(request([1, 2, 3, 5]))).toContain('"data":[1,2,3,5]');
    expect(quick).toHaveBeenCalledTimes(2);
  });

  it('gets errors as others do', async () => {
    const { client, service } = await open();
    await known(client);
    const wrong = request().replace('FP32', 'INT8');
    const refused = await client.ask(wrong);
    expect(refused).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n.*expected FP32/s);
    expect(quick).toHaveBeenCalledTimes(1);
    // Another order of headers is another head, which Node parses.
    expect(await client.ask(wrong.replace('Host: x\r\n', 'host: x\r\n'))).toBe(refused);
    expect(quick).toHaveBeenCalledTimes(1);
    expect(service.requests.length).toBe(2);
  });

  it.each([
    ['another path', request(NUMBERS, '/v2/models/none/infer'), '404'],
    ['another header', request(NUMBERS, PATH, 'Content-Encoding: br\r\n'), '415'],
    ['no request', 'nonsense\r\n\r\n', '400'],
    ['a GET', 'GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n', '200'],
  ])('is none with %s', async (_, text, status) => {
    const { client } = await open();
    await known(client);
    expect(await client.ask(text)).toContain(`HTTP/1.1 ${status} `);
    expect(quick).not.toHaveBeenCalled();
  });

  it('is none when it comes in two pieces', async () => {
    const { client } = await open();
    const first = await known(client);
    const text = request();
    client.send(text.slice(0, 50));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await client.ask(text.slice(50))).toBe(first);
    expect(quick).not.toHaveBeenCalled();
  });

  it('is none behind the beginning of another', async () => {
    const { client } = await open();
    await known(client);
    client.send('PO');
    await new Promise((resolve) => setTimeout(resolve, 50));
    // Together they are "POPOST /v2/…".
    expect(await client.ask(request())).toContain('HTTP/1.1 400 ');
    expect(quick).not.toHaveBeenCalled();
  });

  it('is answered before what is sent behind it', async () => {
    const { client, service } = await open();
    const first = await known(client);
    service.answer = null;
    service.requests.length = 0;
    client.send(request());
    await expect.poll(() => service.requests.length).toBe(1);
    client.send(request([5, 6, 7, 8]) + request([9, 10, 11, 12]));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(service.requests.length).toBe(1);
    service.answer = echo;
    service.requests[0].done(echo(service.requests[0]));
    expect(await client.answer()).toBe(first);
    expect(await client.answer()).toContain('[5,6,7,8]');
    expect(await client.answer()).toContain('[9,10,11,12]');
    expect(quick).toHaveBeenCalledTimes(1);
  });

  it('gets its answer after the client has said its last word, and when the server closes', async () => {
    for (const isServer of [false, true]) {
      const { client, service, frontend } = await open();
      await client.ask(request());
      const first = await client.ask(request());
      service.answer = null;
      service.requests.length = 0;
      client.send(request());
      await expect.poll(() => service.requests.length).toBe(1);
      const closed = isServer ? frontend.close(true) : client.end();
      await new Promise((resolve) => setTimeout(resolve, 400));
      service.requests[0].done(echo(service.requests[0]));
      const answer = await client.answer();
      expect(answer).toBe(
        isServer
          ? first.replace(/Connection: keep-alive\r\nKeep-Alive: .*\r\n/, 'Connection: close\r\n')
          : first,
      );
      expect(await client.answer()).toBe('');
      await closed;
    }
    expect(quick).toHaveBeenCalledTimes(2);
  });

  it.skipIf(noOpenssl)('gets the same over TLS, one after the other (needs openssl)', async () => {
    const { client } = await open({ tls: selfSigned(), maxInflightBytes: 16 * 1024 });
    const first = await known(client);
    for (let i = 0; i < 100; i++) expect(await client.ask(request())).toBe(first);
    expect(quick).toHaveBeenCalledTimes(100);
  });

  it('gives its memory back', async () => {
    const { client } = await open({ maxInflightBytes: 16 * 1024 });
    await known(client);
    for (let i = 0; i < 100; i++) expect(await client.ask(request())).toContain('HTTP/1.1 200 OK');
  });
});
