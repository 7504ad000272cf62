import { describe, expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { WORKER_LOST } from '../../../src/live/service.js';
import { echo, echoModel, FakeService, failure } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const MODELS = [
  echoModel('mlp', true, [['x', 'FP32', [4]]]),
  echoModel('two', false, [
    ['a', 'INT8', [2]],
    ['b', 'BOOL', [2]],
  ]),
];
const X = tensor('x', 'FP32', [1, 4], [1, 2, 3, 4]);

describe('a wrong request', () => {
  it('may be a body that is compressed in an unknown way', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const { status } = await http.post('/v2/models/mlp/infer', 'x', { 'content-encoding': 'br' });
    expect(status).toBe(415);
  });
});

describe('what became of a request', () => {
  const passedNs = 99_500_000;
  const unmet = 'the SLO of 100 ms cannot be met';
  const over = 'the SLO of 100 ms could not be met';
  it.each([
    [failure(OUTCOME_REJECTED, 1_234_567_890), 429, `${unmet}: it would take 1234.568 ms`, 1234.56789, '2'],
    [
      { ...failure(OUTCOME_REJECTED, 100_937_000), passedNs },
      429,
      `${unmet}: it would take 100.937 ms, of which 99.500 ms had passed`,
      100.937,
      '1',
    ],
    [
      failure(OUTCOME_REJECTED, Number.POSITIVE_INFINITY),
      429,
      `${unmet}: no GPU in service can run the model`,
      null,
      '1',
    ],
    [failure(OUTCOME_REJECTED, 0), 429, `${unmet}: the policy gave it up`, null, '1'],
    [{ ...failure(OUTCOME_TIMEOUT, 60_250_000), passedNs }, 504, `${over}: it waited 99.500 ms`, 60.25],
    [{ ...failure(OUTCOME_TIMEOUT), passedNs }, 504, `${over}: it waited 99.500 ms`],
    [failure(OUTCOME_TIMEOUT, 0, 'no worker is up'), 504, `${over}: no worker is up`],
    [failure(OUTCOME_TIMEOUT, Number.POSITIVE_INFINITY, 'late'), 504, `${over}: late`],
    [failure(OUTCOME_ERROR, 0, 'out of memory'), 500, 'out of memory'],
    [failure(OUTCOME_ERROR, 0, WORKER_LOST), 503, WORKER_LOST, undefined, '1'],
  ])(
    '%j: status %i',
    async (answer, code, error, predicted: number | null | undefined = undefined, retry = '') => {
      const { http, service } = await mlp();
      service.answer = () => answer;
      const { status, headers, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
      expect([status, headers.get('retry-after') ?? '']).toEqual([code, retry]);
      expect(json).toEqual({ error, ...(predicted === undefined ? {} : { predicted_ms: predicted }) });
    },
  );

  it('the worst of a batch', async () => {
    const { http, service } = await mlp();
    const answers = [
      failure(OUTCOME_REJECTED, 5e6),
      failure(OUTCOME_ERROR, 0, 'lost'),
      failure(OUTCOME_TIMEOUT),
    ];
    service.answer = (request, nth) => answers[nth] ?? echo(request);
    const inputs = [tensor('x', 'FP32', [4, 4], new Array(16).fill(0))];
    expect(await http.post('/v2/models/mlp/infer', { inputs })).toMatchObject({
      status: 500,
      json: { error: 'lost' },
    });
  });

  it('500 for a fault of the service itself', async () => {
    const { http, service } = await mlp();
    service.infer = () => {
      throw new Error('a bug');
    };
    expect(await http.post('/v2/models/mlp/infer', { inputs: [X] })).toMatchObject({
      status: 500,
      json: { error: 'internal error: a bug' },
    });
  });
});

async function mlp() {
  const service = new FakeService(MODELS);
  return { service, ...(await openHttp(service, { defaultSloNs: 1e8 })) };
}
