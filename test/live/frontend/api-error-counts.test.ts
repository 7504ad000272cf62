import { describe, expect, it } from 'vitest';
import { OUTCOME_REJECTED } from '../../../src/core/request.js';
import { newApiErrorCounters, readApiErrors } from '../../../src/live/frontend/api-error.js';
import { echoModel, FakeService, failure } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const MODEL = echoModel('m', true, [['x', 'FP32', [1]]]);
const INFER = '/v2/models/m/infer';
const GOOD = { inputs: [tensor('x', 'FP32', [1, 1], [1])] };
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
});
