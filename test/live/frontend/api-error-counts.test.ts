import { describe, expect, it, onTestFinished } from 'vitest';
import { OUTCOME_REJECTED } from '../../../src/core/request.js';
import { newApiErrorCounters, readApiErrors } from '../../../src/live/frontend/api-error.js';
import { echoModel, FakeService, failure } from './fake-service.js';
import { openGrpc, openHttp, tensor } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const MODEL = echoModel('m', true, [['x', 'FP32', [1]]]);
const INFER = '/v2/models/m/infer';
const GOOD = { inputs: [tensor('x', 'FP32', [1, 1], [1])] };
const MESSAGE = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [1] } }],
};
const TOKEN = { authorization: 'Bearer secret' };

function counted(counters: SharedArrayBuffer): Record<string, number> {
  const rises = readApiErrors(counters).filter(({ count }) => count > 0);
  return Object.fromEntries(rises.map(({ transport, reason, count }) => [`${transport} ${reason}`, count]));
}

describe('API errors are counted', () => {
  it('of HTTP, once each, and only where an inference was asked for', async () => {
    const apiErrors = newApiErrorCounters();
    const service = new FakeService([MODEL]);
    const { http } = await openHttp(service, { apiErrors, token: 'secret', maxBodyBytes: 1000 });
    const post = async (path: string, body: unknown, headers: Record<string, string> = TOKEN) =>
      (await http.post(path, body, headers)).status;

    expect(await post(INFER, GOOD)).toBe(200);
    service.answer = () => failure(OUTCOME_REJECTED);
    expect(await post(INFER, GOOD)).toBe(429);
    expect((await http.get('/v2/models/n', TOKEN)).status).toBe(404);
    expect(counted(apiErrors)).toEqual({});

    expect(await post('/v2/models/n/infer', GOOD)).toBe(404);
    expect(await post(`${INFER}?x=1`, GOOD, {})).toBe(401);
    expect(await post(INFER, '{')).toBe(400);
    expect(await post('/v2/models/m/versions/1/infer', 'x'.repeat(1001))).toBe(413);
    service.notReady = 'no worker is up';
    for (let i = 0; i < 3; i++) expect(await post(INFER, GOOD)).toBe(503);
    expect((await http.get('/v2/health/ready')).status).toBe(503);
    const expected = { unknown: 1, unauthenticated: 1, invalid: 1, too_large: 1, not_ready: 3 };
    const named = Object.entries(expected).map(([reason, count]) => [`http ${reason}`, count]);
    expect(counted(apiErrors)).toEqual(Object.fromEntries(named));
  });

  it('of gRPC, once each, and only where an inference was asked for', async () => {
    const apiErrors = newApiErrorCounters();
    const service = new FakeService([MODEL]);
    const { port } = await openGrpc(service, { apiErrors, token: 'secret', maxBodyBytes: 1000 });
    const grpc = new GrpcClient(port);
    onTestFinished(() => grpc.close());
    const codeOf = (message: object, headers: Record<string, string> = TOKEN, method = 'ModelInfer') =>
      grpc.call(method, message, headers).then(
        () => 0,
        ({ code }) => code,
      );

    expect(await codeOf(MESSAGE)).toBe(0);
    service.answer = () => failure(OUTCOME_REJECTED);
    expect(await codeOf(MESSAGE)).toBe(8);
    expect(await codeOf({ name: 'n' }, TOKEN, 'ModelMetadata')).toBe(5);
    expect(counted(apiErrors)).toEqual({});

    expect(await codeOf({ ...MESSAGE, model_name: 'n' })).toBe(5);
    expect(await codeOf(MESSAGE, {})).toBe(16);
    expect(await codeOf({ ...MESSAGE, inputs: [] })).toBe(3);
    service.notReady = 'no worker is up';
    expect(await codeOf(MESSAGE)).toBe(14);
    // As a stream, whose error is in its one response.
    expect(await codeOf(MESSAGE, TOKEN, 'ModelStreamInfer')).toBe(0);
    const expected = { unknown: 1, unauthenticated: 1, invalid: 1, not_ready: 2 };
    const named = Object.entries(expected).map(([reason, count]) => [`grpc ${reason}`, count]);
    expect(counted(apiErrors)).toEqual(Object.fromEntries(named));
  });
});
