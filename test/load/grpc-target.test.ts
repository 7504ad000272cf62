import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../src/base/units.js';
import { OUTCOME_NAMES, OUTCOME_OK } from '../../src/core/request.js';
import { play } from '../../src/load/player.js';
import { Answers, ListSource, open, SENDERS, send } from './fixtures.js';
import { type GrpcInference, GrpcServer } from './grpc-server.js';

it('sends tensors raw, with the SLO as a parameter', async () => {
  const seen: GrpcInference[] = [];
  const server = await GrpcServer.open({ infer: (inference) => seen.push(inference) * 0 });
  const target = await open(server, { token: 'secret' });
  expect([
    await send(target, { model: 1 }),
    await send(target, { model: 1, sloNs: 12.5 * NS_PER_MS }),
  ]).toEqual([OUTCOME_OK, OUTCOME_OK]);
  const [whole, broken] = seen;
  expect(whole).toMatchObject({
    model_name: 'b',
    parameters: { slo_ms: { int64_param: 25 } },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 3] }],
    authorization: 'Bearer secret',
  });
  expect(broken.parameters).toMatchObject({ slo_ms: { double_param: 12.5 } });
  expect(whole.raw_input_contents.map(({ length }) => length)).toEqual([12]);
  expect(broken.raw_input_contents).toEqual(whole.raw_input_contents);
});

it('tells each way in which a request ends', async () => {
  const codes = [
    status.OK,
    status.RESOURCE_EXHAUSTED,
    status.DEADLINE_EXCEEDED,
    status.INVALID_ARGUMENT,
    status.INTERNAL,
    status.UNAVAILABLE,
  ];
  let next = 0;
  const target = await open(await GrpcServer.open({ infer: () => codes[next++] }));
  const outcomes: string[] = [];
  for (const _ of codes) outcomes.push(OUTCOME_NAMES[await send(target)]);
  expect(outcomes).toEqual(['ok', 'rejected', 'timeout', 'error', 'error', 'error']);
});

it('ends a run whose server dies, with errors from then on', async () => {
  let served = 0;
  const server: GrpcServer = await GrpcServer.open({
    infer: () => {
      if (++served < 5) return status.OK;
      server.die();
      return -1;
    },
  });
  const target = await open(server, { connections: 1 });
  const observer = new Answers();
  const timesNs = Array.from({ length: 20 }, (_, i) => i * NS_PER_MS);
  const { unanswered } = await play({ source: new ListSource(timesNs), target, observer });
  const errors = observer.outcomes.filter((outcome) => outcome === 'error').length;
  // Of the four that were answered, some may have been on their way.
  expect(errors).toBeGreaterThanOrEqual(16);
  expect(observer.all).toHaveLength(20);
  expect(unanswered.lost).toBeGreaterThan(0);
  expect(unanswered.lost + unanswered.neverSent).toBe(errors);
});

it('says of no request that it was lost which no connection took', async () => {
  const server = await GrpcServer.open({ infer: () => status.OK });
  const target = await open(server, { connections: 1 });
  const lack = () =>
    new Promise((resolve) => target.send({ model: 0, sloNs: NS_PER_S }, (_, reply) => resolve(reply?.lack)));
  expect(await lack()).toBe(undefined);
  server.die();
  // It may meet the old connection.
  await lack();
  const later: Promise<unknown>[] = [];
  for (let i = 0; i < 20; i++) {
    later.push(lack());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(new Set(await Promise.all(later))).toEqual(new Set(['neverSent']));
});

it('refuses a server that is not ready, lacks a model or is not there', async () => {
  await expect(open(await GrpcServer.open({ ready: false }))).rejects.toMatchObject({
    code: 'E_SERVER',
    message: expect.stringMatching(/grpc:\/\/127\.0\.0\.1:\d+ is not ready/),
  });
  await expect(open(await GrpcServer.open(), { models: ['a', 'c'] })).rejects.toMatchObject({
    code: 'E_UNKNOWN_MODEL',
    message: expect.stringContaining('no model c; it has a, b'),
  });
  const gone = await GrpcServer.open();
  gone.die();
  await expect(open(gone)).rejects.toMatchObject({ code: 'E_SERVER' });
});

it('names class and tenant of each request', async () => {
  const seen: GrpcInference[] = [];
  const server = await GrpcServer.open({ infer: (inference) => seen.push(inference) * 0 });
  const target = await open(server, { senders: SENDERS });
  const as = (requestClass: number, tenant: number) => send(target, { requestClass, tenant });
  expect([await as(0, 0), await as(1, 1)]).toEqual([OUTCOME_OK, OUTCOME_OK]);
  expect(seen.map(({ parameters, tenant }) => [parameters.priority?.int64_param, tenant])).toEqual([
    [undefined, 'others'],
    [7, 'acme'],
  ]);
});
