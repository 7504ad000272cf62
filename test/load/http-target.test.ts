import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../src/base/units.js';
import { OUTCOME_ERROR, OUTCOME_NAMES, OUTCOME_OK } from '../../src/core/request.js';
import { openTarget } from '../../src/load/open-target.js';
import { play } from '../../src/load/player.js';
import type { TargetOptions } from '../../src/load/target.js';
import { noOpenssl, selfSigned } from '../self-signed.js';
import { Answers, ListSource, open, SENDERS, send } from './fixtures.js';
import { HttpServer, type HttpServerOptions, type Inference } from './http-server.js';

/** Collects infer requests that have no answer yet. */
class Held {
  readonly requests: Inference[] = [];
  private wanted = 0;
  private enough = () => {};

  readonly infer = (inference: Inference): void => {
    this.requests.push(inference);
    if (this.requests.length === this.wanted) this.enough();
  };

  async count(wanted: number): Promise<void> {
    this.wanted = wanted;
    if (this.requests.length < wanted) await new Promise<void>((resolve) => (this.enough = resolve));
  }
}

it('sends tensors as bytes behind the JSON where the server takes them', async () => {
  const seen: Inference[] = [];
  const server = await HttpServer.open({
    extensions: ['binary_tensor_data'],
    infer: (inference) => {
      seen.push(inference);
      inference.answer(200);
    },
  });
  const target = await open(server, { token: 'secret' });
  expect(await send(target, { model: 1, sloNs: 12.5 * NS_PER_MS })).toBe(OUTCOME_OK);
  const [{ model, headers, json, binary }] = seen;
  expect(model).toBe('b');
  expect(headers.authorization).toBe('Bearer secret');
  expect(headers['content-type']).toBe('application/octet-stream');
  expect(json).toEqual({
    parameters: { slo_ms: 12.5, binary_data_output: true },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 3], parameters: { binary_data_size: 12 } }],
  });
  const values = [0, 4, 8].map((at) => binary.readFloatLE(at));
  expect(binary).toHaveLength(12);
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
  expect(new Set(values).size).toBe(3);
});

it('sends JSON where it does not, with the same values', async () => {
  const inputs = [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'ids', datatype: 'INT64', shape: [-1, -1] },
    { name: 'mask', datatype: 'BOOL', shape: [1] },
  ];
  const seen: Inference[] = [];
  const infer = (inference: Inference) => {
    seen.push(inference);
    inference.answer(200);
  };
  const asJson = await open(await HttpServer.open({ inputs, infer }));
  const asBytes = await open(await HttpServer.open({ inputs, infer, extensions: ['binary_tensor_data'] }));
  expect([await send(asJson), await send(asBytes)]).toEqual([OUTCOME_OK, OUTCOME_OK]);
  expect(seen[0].headers['content-type']).toBe('application/json');
  expect(seen[0].json).toEqual({
    parameters: { slo_ms: 25 },
    inputs: [
      { ...inputs[0], shape: [1, 2], data: [seen[1].binary.readFloatLE(0), seen[1].binary.readFloatLE(4)] },
      { ...inputs[1], shape: [1, 1], data: [0] },
      { ...inputs[2], data: [false] },
    ],
  });
  expect(seen[1].binary).toHaveLength(8 + 8 + 1);
});

it('tells each way in which a request ends', async () => {
  const statuses = [200, 429, 504, 400, 404, 500, 503];
  let next = 0;
  const server = await HttpServer.open({ infer: (inference) => inference.answer(statuses[next++]) });
  const target = await open(server);
  const outcomes: string[] = [];
  for (const _ of statuses) outcomes.push(OUTCOME_NAMES[await send(target)]);
  expect(outcomes).toEqual(['ok', 'rejected', 'timeout', 'error', 'error', 'error', 'error']);
});

it('keeps a connection for many requests, and opens no more than allowed', async () => {
  const held = new Held();
  const server = await HttpServer.open({ infer: held.infer });
  const target = await open(server, { connections: 2 });
  const before = server.sockets.length;
  const outcomes = [0, 1, 2, 3, 4].map(() => send(target));
  for (let answered = 0; answered < 5; answered++) {
    await held.count(Math.min(answered + 2, 5));
    held.requests[answered].answer(200);
  }
  expect(await Promise.all(outcomes)).toEqual([0, 0, 0, 0, 0]);
  expect(server.sockets.length - before).toBe(2);
  expect(target.waited).toBe(3);
});

it('counts a request as lost when its connection breaks, and serves those that wait', async () => {
  const behaviours = [
    ({ response }: Inference) => response.destroy(),
    ({ response }: Inference) => response.socket?.end('220 what?\r\n\r\n'),
    (inference: Inference) => inference.answer(200),
  ];
  const server = await HttpServer.open({ infer: (inference) => behaviours.shift()?.(inference) });
  const target = await open(server, { connections: 1 });
  const ask = () =>
    new Promise((resolve) =>
      target.send({ model: 0, sloNs: NS_PER_S }, (outcome, reply) =>
        resolve([outcome, reply?.lack, reply?.message]),
      ),
    );
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([
    [OUTCOME_ERROR, 'lost', 'other side closed'],
    [OUTCOME_ERROR, 'lost', 'Response does not match the HTTP/1.1 protocol (Expected HTTP/, RTSP/ or ICE/)'],
    [OUTCOME_OK, undefined, ''],
  ]);
});

it('ends a run whose server dies, with errors from then on', async () => {
  const server = await HttpServer.open({
    infer: (inference) => {
      if (++served < 5) inference.answer(200);
      else server.die();
    },
  });
  let served = 0;
  const target = await open(server, { connections: 1 });
  const observer = new Answers();
  const timesNs = Array.from({ length: 20 }, (_, i) => i * NS_PER_MS);
  const { unanswered, problems } = await play({ source: new ListSource(timesNs), target, observer });
  const counts = (outcome: string) => observer.outcomes.filter((other) => other === outcome).length;
  expect([counts('ok'), counts('error')]).toEqual([4, 16]);
  expect(unanswered).toEqual({ neverSent: 15, lost: 1, givenUp: 0 });
  expect(problems.neverSent).toContain('ECONNREFUSED');
  expect(problems.lost).not.toContain('ECONNREFUSED');
});

it('tells what was never sent from what was never answered, and sends no more of either', async () => {
  const held = new Held();
  const server = await HttpServer.open({ infer: held.infer });
  const target = await open(server, { connections: 1 });
  const observer = new Answers();
  const source = new ListSource([0, 0, 0], 1);
  const { unanswered, problems } = await play({ source, target, observer, patienceNs: NS_PER_MS });
  expect(observer.outcomes).toEqual(['error', 'error', 'error']);
  expect(unanswered).toEqual({ neverSent: 2, lost: 0, givenUp: 1 });
  expect(problems.neverSent).toMatch(/^no connection was free/);
  const next = send(target);
  held.requests[0].answer(200);
  await held.count(2);
  held.requests[1].answer(200);
  expect(await next).toBe(OUTCOME_OK);
  expect(held.requests).toHaveLength(2);
});

const refusals: readonly [string, HttpServerOptions, Partial<TargetOptions>, string, RegExp][] = [
  ['is not ready', { ready: false }, {}, 'E_SERVER', /127\.0\.0\.1:\d+ is not ready \(status 503\)/],
  ['lacks a model', {}, { models: ['a', 'c'] }, 'E_UNKNOWN_MODEL', /no model c; it has a, b/],
  [
    'wants a type that is none',
    { inputs: [{ name: 'text', datatype: 'BF16', shape: [1] }] },
    {},
    'E_UNKNOWN_MODEL',
    /model a: input text is of type BF16/,
  ],
  [
    'takes FP16 as JSON',
    { inputs: [{ name: 'x', datatype: 'FP16', shape: [1] }] },
    {},
    'E_SERVER',
    /FP16, which JSON cannot represent/,
  ],
  [
    'does not tell its inputs',
    { inputs: [{ name: 'x' }] },
    {},
    'E_SERVER',
    /does not describe the inputs of model a/,
  ],
];

it.each(refusals)('refuses a server that %s', async (_, server, options, code, message) => {
  const opening = open(await HttpServer.open(server), options);
  await expect(opening).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

it('refuses a server that is not there', async () => {
  const server = await HttpServer.open();
  server.die();
  const message = expect.stringContaining(`${server.url} cannot be reached: `);
  await expect(open(server)).rejects.toMatchObject({ code: 'E_SERVER', message });
});

it('asks whether a server that hangs up speaks TLS', async ({ skip }) => {
  skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
  const server = createTlsServer(selfSigned());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const opening = openTarget(`http://127.0.0.1:${port}`, { models: ['a'], seed: 1 });
  const message = expect.stringMatching(/: .+; does it speak TLS\? Then use https:\/\/$/);
  await expect(opening).rejects.toMatchObject({ code: 'E_SERVER', message });
});

it('asks whether a server that speaks plain HTTP was meant', async () => {
  const { url } = await HttpServer.open();
  const opening = openTarget(url.replace('http', 'https'), { models: ['a'], seed: 1 });
  const message = expect.stringMatching(/; does it speak no TLS\? Then use http:\/\/$/);
  await expect(opening).rejects.toMatchObject({ code: 'E_SERVER', message });
});

it.each([
  ['JSON', []],
  ['bytes', ['binary_tensor_data']],
])('names class and tenant of each request, as %s', async (_, extensions) => {
  const seen: Inference[] = [];
  const server = await HttpServer.open({
    extensions,
    infer: (inference) => {
      seen.push(inference);
      inference.answer(200);
    },
  });
  const target = await open(server, { senders: SENDERS });
  const as = (requestClass: number, tenant: number) => send(target, { requestClass, tenant });
  for (const [requestClass, tenant] of [
    [0, 0],
    [1, 1],
    [1, 0],
  ] as const)
    expect(await as(requestClass, tenant)).toBe(OUTCOME_OK);
  expect(seen.map(({ headers, json }) => [json.parameters.priority, headers['x-tenant']])).toEqual([
    [undefined, 'others'],
    [7, 'acme'],
    [7, 'others'],
  ]);
});
