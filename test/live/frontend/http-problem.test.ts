import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });
const INFER = post(`host: x\r\ncontent-length: ${BODY.length}`, BODY);

function post(headers: string, body: string, version = '1.1'): string {
  return `POST /v2/models/mlp/infer HTTP/${version}\r\n${headers}\r\n\r\n${body}`;
}

function chunked(data: string): string {
  return `${data.length.toString(16)}\r\n${data}\r\n0\r\n\r\n`;
}

/** Status and body of each answer. */
function answersIn(heard: string): [number, unknown][] {
  const found: [number, unknown][] = [];
  for (let rest = heard; rest !== ''; ) {
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(rest) as RegExpExecArray;
    const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(rest) as RegExpExecArray;
    const from = rest.indexOf('\r\n\r\n') + 4;
    found.push([Number(status), JSON.parse(rest.slice(from, from + Number(length)))]);
    rest = rest.slice(from + Number(length));
  }
  return found;
}

const error = (pattern: RegExp) => ({ error: expect.stringMatching(pattern) });
const CONNECT = 'CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n';
const NOT_HTTP = error(/^this is not HTTP\/1\.1: /);

describe('what is not HTTP', () => {
  it.each([
    ['text', 'what is this?\r\n\r\n', 400, NOT_HTTP],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, error(/^this port speaks HTTP\/1\.1: gRPC has/)],
    [
      'headers without end',
      `GET /v2 HTTP/1.1\r\n${'x: y\r\n'.repeat(20_000)}`,
      431,
      error(/more than 16384/),
    ],
    ['a bad chunk size', post('host: x\r\ntransfer-encoding: chunked', 'zz\r\n'), 400, NOT_HTTP],
    [
      'endless extensions of a chunk',
      post('host: x\r\ntransfer-encoding: chunked', `2;${'x'.repeat(20_000)}`),
      413,
      error(/^the extensions of a chunk/),
    ],
  ])('is refused with words: %s', async (_, bytes, status, body) => {
    const { port, http } = await openHttp(new FakeService([MLP]));
    expect(answersIn(await exchangeRaw(port, bytes))).toEqual([[status, body]]);
    expect((await http.get('/v2/health/live')).status).toBe(200);
  });

  it.each([
    ['a line', 'what is this?\r\n\r\n', [200, 200]],
    ['a body', post('host: x\r\ntransfer-encoding: chunked', 'zz\r\n'), [200, 200, 400]],
    ['a tunnel', CONNECT, []],
  ])('ends the connection, after the answers to the requests before it: %s', async (_, bytes, statuses) => {
    const { port, http } = await openHttp(new FakeService([MLP]));
    const heard = answersIn(await exchangeRaw(port, INFER + INFER + bytes));
    expect(heard.map(([status]) => status)).toEqual(statuses);
    expect((await http.get('/v2/health/live')).status).toBe(200);
  });

  it('adds nothing to an answer that its request has had', async () => {
    const { port } = await openHttp(new FakeService([MLP]));
    const bytes = 'GET /v2/health/live HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
    expect(answersIn(await exchangeRaw(port, `${bytes}zz\r\n`))).toHaveLength(1);
  });

  it.each([
    ['WebSocket', 'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: eA=='],
    ['HTTP/2', 'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk'],
  ])('is not begun for a client that offers it: %s', async (_, offer) => {
    const { port } = await openHttp(new FakeService([MLP]));
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    // Each request when the one before was answered; the body of the second comes apart.
    const head = `host: x\r\n${offer}`;
    const [first, ...pieces] = post(`${head}\r\ncontent-length: ${BODY.length}`, BODY).split(/(?=\{"inputs)/);
    const asked = [`GET /v2/health/live HTTP/1.1\r\n${head}\r\n\r\n`, [first!, ...pieces], INFER];
    for (const [i, sent] of asked.entries()) {
      for (const piece of [sent].flat()) {
        await new Promise((resolve) => socket.write(piece, resolve));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await expect.poll(() => answersIn(heard).length).toBe(i + 1);
    }
    socket.destroy();
    expect(answersIn(heard)).toEqual([
      [200, { live: true }],
      [200, expect.objectContaining({ model_name: 'mlp' })],
      [200, expect.objectContaining({ model_name: 'mlp' })],
    ]);
  });

  it('ends nothing when the client resets the connection', async () => {
    const { port, http } = await openHttp(new FakeService([MLP]));
    for (const bytes of ['', 'what is', INFER, CONNECT, INFER + CONNECT, `${INFER}what is this?\r\n\r\n`]) {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes, () => socket.resetAndDestroy()));
      socket.on('error', () => {});
      await once(socket, 'close');
    }
    expect((await http.get('/v2/health/live')).status).toBe(200);
  });
});

describe('a request whose length or addressee others could read otherwise', () => {
  const OTHER_CODING = error(/^transfer-encoding .* is not supported: send chunked/);
  it.each([
    ['gzip, chunked', 501, OTHER_CODING],
    ['gzip\r\ntransfer-encoding: chunked', 501, OTHER_CODING],
  ])('is refused: transfer-encoding %s', async (coding, status, body) => {
    const { port } = await openHttp(new FakeService([MLP]));
    const heard = await exchangeRaw(
      port,
      post(`host: x\r\ntransfer-encoding: ${coding}`, chunked(BODY)) + INFER,
    );
    expect(answersIn(heard)).toEqual([[status, body]]);
  });

  it.each([
    ['no Host', post(`content-length: ${BODY.length}`, BODY), 400, error(/Host is missing$/)],
    [
      'two Hosts',
      post(`host: a\r\nhost: b\r\ncontent-length: ${BODY.length}`, BODY),
      400,
      error(/Host: expected one host, got "a, b"$/),
    ],
    ['chunks in HTTP/1.0', post('transfer-encoding: chunked', chunked(BODY), '1.0'), 501, OTHER_CODING],
  ])('is refused: %s', async (_, bytes, status, body) => {
    const { port } = await openHttp(new FakeService([MLP]));
    expect(answersIn(await exchangeRaw(port, bytes + INFER))).toEqual([[status, body]]);
  });

  it('is refused if what follows is none, while its client waits to be asked for the body', async () => {
    const service = new FakeService([MLP]);
    service.yielded();
    service.takeOver = () => new Promise(() => {});
    const { port } = await openHttp(service);
    const bytes = post('host: x\r\nexpect: 100-continue\r\ntransfer-encoding: chunked', 'zz\r\n');
    expect(answersIn(await exchangeRaw(port, bytes))).toEqual([[400, NOT_HTTP]]);
  });
});
