import { describe, expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { INPUTS_LOST, WORKER_LOST } from '../../../src/live/service.js';
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
const A = tensor('a', 'INT8', [2], [1, 2]);

describe('the answer to a wrong request says what was expected and what came', () => {
  it('as JSON, and nothing reaches the service', async () => {
    const service = new FakeService(MODELS);
    const { http } = await openHttp(service);
    const answer = await http.post('/v2/models/two/infer', { inputs: [A] });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ error: 'input "b": missing, expected BOOL [2]' });
    expect(service.requests).toEqual([]);
  });

  it.each([
    ['more than the body', '999', /expected at most the body's \d+ bytes, got "999"$/],
    ['no number', '-1', /got "-1"$/],
    ['less than the JSON', '5', /^the body is not JSON/],
  ])('a header length that is %s', async (_, length, error) => {
    const { http } = await openHttp(new FakeService(MODELS));
    const headers = { 'inference-header-content-length': length };
    const { status, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] }, headers);
    expect(status).toBe(400);
    expect(json.error).toMatch(error);
  });

  it('a binary size beyond the body, also where the rest would fit', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const input = { ...X, data: undefined, parameters: { binary_data_size: 2 ** 32 + 4 } };
    const json = JSON.stringify({ inputs: [input] });
    const headers = { 'inference-header-content-length': String(json.length) };
    expect(await http.post('/v2/models/mlp/infer', `${json}${'\0'.repeat(16)}`, headers)).toMatchObject({
      status: 400,
      json: { error: 'input "x": binary_data_size is 4294967300, but 16 bytes are left' },
    });
  });

  it('bytes that belong to no input', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const json = JSON.stringify({ inputs: [X] });
    const headers = { 'inference-header-content-length': String(json.length) };
    expect((await http.post('/v2/models/mlp/infer', `${json}1234`, headers)).json).toEqual({
      error: 'the body has 4 bytes of binary data that belong to no input',
    });
  });

  it('inputs of different batches', async () => {
    const model = echoModel('m', true, [
      ['a', 'INT8', [1]],
      ['b', 'INT8', [1]],
    ]);
    const { http } = await openHttp(new FakeService([model]));
    const inputs = [tensor('a', 'INT8', [2, 1], [1, 2]), tensor('b', 'INT8', [1, 1], [1])];
    expect((await http.post('/v2/models/m/infer', { inputs })).json).toEqual({
      error: 'input "b": expected a batch of 2 like the inputs before it, got 1',
    });
  });

  it('a body that is not UTF-8', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const body = Buffer.concat([
      Buffer.from('{"id":"'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('","inputs":[]}'),
    ]);
    const { status, json } = await http.post('/v2/models/mlp/infer', body);
    expect([status, json.error]).toEqual([400, 'the body is not UTF-8']);
  });

  it('a body that is compressed in an unknown way', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const { status } = await http.post('/v2/models/mlp/infer', 'x', { 'content-encoding': 'br' });
    expect(status).toBe(415);
  });
});

describe('what became of a request', () => {
  it('429 with the latency to be expected', async () => {
    const { http, service } = await mlp();
    service.answer = () => failure(OUTCOME_REJECTED, 1_234_567_890);
    const { status, headers, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
    expect([status, headers.get('retry-after')]).toEqual([429, '2']);
    expect(json).toEqual({
      error: 'the SLO of 100 ms cannot be met: it would take 1234.568 ms',
      predicted_ms: 1234.56789,
    });
  });

  it('429 with the time that had passed', async () => {
    const { http, service } = await mlp();
    service.answer = () => ({ ...failure(OUTCOME_REJECTED, 100_937_000), passedNs: 99_500_000 });
    const { json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
    expect(json).toEqual({
      error: 'the SLO of 100 ms cannot be met: it would take 100.937 ms, of which 99.500 ms had passed',
      predicted_ms: 100.937,
    });
  });

  it('429 with what it waited for', async () => {
    const { http, service } = await mlp();
    const waitedFor = '80.000 ms for the LOAD of its model';
    service.answer = () => ({ ...failure(OUTCOME_REJECTED, 100_937_000), passedNs: 99_500_000, waitedFor });
    const { json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
    expect(json.error).toMatch(
      /, of which 99\.500 ms had passed; it waited 80\.000 ms for the LOAD of its model$/,
    );
  });

  it('429 in JSON also where nothing can be expected', async () => {
    const { http, service } = await mlp();
    for (const predictedNs of [Number.POSITIVE_INFINITY, 0]) {
      service.answer = () => failure(OUTCOME_REJECTED, predictedNs);
      const { status, headers, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
      expect([status, headers.get('retry-after')]).toEqual([429, '1']);
      expect(json).toEqual({ error: 'the SLO of 100 ms cannot be met', predicted_ms: null });
    }
  });

  it('504 with the latency that was expected when it was accepted', async () => {
    const { http, service } = await mlp();
    service.answer = () => ({ ...failure(OUTCOME_TIMEOUT, 60_250_000), passedNs: 99_500_000 });
    const { status, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
    expect([status, json.predicted_ms]).toEqual([504, 60.25]);
    service.answer = () => failure(OUTCOME_TIMEOUT, Number.POSITIVE_INFINITY);
    expect((await http.post('/v2/models/mlp/infer', { inputs: [X] })).json).not.toHaveProperty(
      'predicted_ms',
    );
  });

  it('504 when its time is over', async () => {
    const { http, service } = await mlp();
    service.answer = () => ({ ...failure(OUTCOME_TIMEOUT), passedNs: 99_500_000 });
    const { status, json } = await http.post('/v2/models/mlp/infer', { inputs: [X] });
    expect(status).toBe(504);
    expect(json).toEqual({ error: 'the SLO of 100 ms could not be met: it waited 99.500 ms in the queue' });
    const waitedFor = '80.000 ms for the LOAD of its model';
    service.answer = () => ({ ...failure(OUTCOME_TIMEOUT), passedNs: 99_500_000, waitedFor });
    expect((await http.post('/v2/models/mlp/infer', { inputs: [X] })).json).toEqual({
      error:
        'the SLO of 100 ms could not be met: it waited 99.500 ms in all, 80.000 ms for the LOAD of its model',
    });
    service.answer = () => failure(OUTCOME_TIMEOUT, 0, 'no worker is up');
    expect((await http.post('/v2/models/mlp/infer', { inputs: [X] })).json).toEqual({
      error: 'the SLO of 100 ms could not be met: no worker is up',
    });
  });

  it("500 with the device's own words", async () => {
    const { http, service } = await mlp();
    service.answer = () => failure(OUTCOME_ERROR, 0, 'out of memory');
    expect(await http.post('/v2/models/mlp/infer', { inputs: [X] })).toMatchObject({
      status: 500,
      json: { error: 'out of memory' },
    });
  });

  it.each([WORKER_LOST, INPUTS_LOST])('503 if it can be sent again: %s', async (error) => {
    const { http, service } = await mlp();
    service.answer = () => failure(OUTCOME_ERROR, 0, error);
    expect(await http.post('/v2/models/mlp/infer', { inputs: [X] })).toMatchObject({
      status: 503,
      json: { error },
    });
  });

  it('503 while the service is not ready', async () => {
    const { http, service } = await mlp();
    service.notReady = 'draining';
    expect((await http.post('/v2/models/mlp/infer', { inputs: [X] })).status).toBe(503);
    expect(service.requests).toEqual([]);
  });

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
