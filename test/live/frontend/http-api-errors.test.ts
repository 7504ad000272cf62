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
const B = tensor('b', 'BOOL', [2], [true, false]);

describe('the answer to a wrong request says what was expected and what came', () => {
  it.each([
    ['no JSON', 'mlp', '{"inputs":', /^the body is not JSON: /],
    ['nothing', 'mlp', '', /^the body is not JSON: /],
    ['no object', 'mlp', '[1]', 'the body is not a JSON object: [1]'],
    ['no inputs', 'mlp', {}, 'inputs is missing: expected an array of tensors'],
    ['an input that is none', 'mlp', { inputs: [null] }, 'inputs: expected an object, got null'],
    ['an unknown input', 'two', { inputs: [X] }, 'input "x": not an input of model two ("a", "b")'],
    ['a missing input', 'two', { inputs: [A] }, 'input "b": missing, expected BOOL [2]'],
    ['an input twice', 'two', { inputs: [A, A] }, 'input "a": given twice'],
    [
      'another datatype',
      'mlp',
      { inputs: [{ ...X, datatype: 'FP64' }] },
      'input "x": expected FP32 [n,4] with n from 1 to 256, got FP64 [1,4]',
    ],
    [
      'another shape',
      'mlp',
      { inputs: [{ ...X, shape: [4] }] },
      'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [4]',
    ],
    [
      'too large a batch',
      'mlp',
      { inputs: [{ ...X, shape: [257, 4] }] },
      'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [257,4]',
    ],
    [
      'an empty batch',
      'mlp',
      { inputs: [{ ...X, shape: [0, 4], data: [] }] },
      'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [0,4]',
    ],
    ['a shape that is none', 'mlp', { inputs: [{ ...X, shape: 'x'.repeat(500) }] }, /got FP32 "x{79}…$/],
    ['no data', 'mlp', { inputs: [{ ...X, data: undefined }] }, 'input "x": data is missing'],
    ['data that is no array', 'mlp', { inputs: [{ ...X, data: 1 }] }, 'input "x": data is not an array'],
    ['too few elements', 'mlp', { inputs: [{ ...X, data: [1] }] }, 'input "x": expected 4 elements, got 1'],
    [
      'other nesting than the shape',
      'mlp',
      {
        inputs: [
          {
            ...X,
            data: [
              [1, 2],
              [3, 4],
            ],
          },
        ],
      },
      'input "x": data is nested otherwise than its shape [1,4]: expected 1 element in dimension 0, got 2',
    ],
    [
      'a list of lists for a shape of one size',
      'two',
      { inputs: [{ ...A, data: [[1, 2]] }, B] },
      'input "a": data is nested otherwise than its shape [2]: expected 2 elements in dimension 0, got 1',
    ],
    [
      'an element of another kind',
      'mlp',
      { inputs: [{ ...X, data: [1, '2', 3, 4] }] },
      'input "x": element 1 is "2", expected a number within the range of FP32',
    ],
    [
      'an element out of range',
      'two',
      { inputs: [{ ...A, data: [1, 128] }, B] },
      'input "a": element 1 is 128, expected a whole number from -128 to 127',
    ],
    [
      'a number where a truth value belongs',
      'two',
      { inputs: [A, { ...B, data: [true, 2] }] },
      'input "b": element 1 is 2, expected true or false',
    ],
    ['an id that is no text', 'mlp', { inputs: [X], id: 7 }, 'id: expected a string, got 7'],
    [
      'an unknown output',
      'two',
      { inputs: [A, B], outputs: [{ name: 'c' }] },
      'output "c": not an output of the model ("out-a", "out-b")',
    ],
    [
      'an SLO that is none',
      'mlp',
      { inputs: [X], parameters: { slo_ms: '5' } },
      'parameter slo_ms: expected a number above 0 and up to 86400000, got "5"',
    ],
    [
      'an SLO that was over before it began',
      'mlp',
      { inputs: [X], parameters: { timeout: -1 } },
      'parameter timeout: expected a number above 0 and up to 86400000000, got -1',
    ],
    [
      'shared memory',
      'mlp',
      { inputs: [{ ...X, data: undefined, parameters: { shared_memory_region: 'r' } }] },
      'input "x": parameter "shared_memory_region" is not supported, only binary_data_size',
    ],
    [
      'a classification that is none',
      'mlp',
      { inputs: [X], outputs: [{ name: 'out-x', parameters: { classification: '2' } }] },
      'output "out-x": classification: expected a number of classes, got "2"',
    ],
    [
      'an output twice',
      'mlp',
      { inputs: [X], outputs: [{ name: 'out-x' }, { name: 'out-x' }] },
      'output "out-x": asked for twice',
    ],
    [
      'a priority',
      'mlp',
      { inputs: [X], parameters: { priority: 1 } },
      'parameter priority: only 0 is supported; slo_ms says how urgent a request is',
    ],
    [
      'a sequence',
      'mlp',
      { inputs: [X], parameters: { sequence_id: 7 } },
      'parameter sequence_id: models with state between requests are not supported',
    ],
    [
      'an SLO by another name',
      'mlp',
      { inputs: [X], parameters: { slo: 1 } },
      /"slo".*; did you mean slo_ms\?$/,
    ],
    [
      'an unknown wish',
      'mlp',
      { inputs: [X], parameters: { wish: 1 } },
      'parameter "wish" is not supported; a request may have slo_ms and timeout',
    ],
    [
      'a shape without data',
      'mlp',
      { inputs: [{ ...X, shape: [256, 4], data: [] }] },
      'input "x": expected 1024 elements, got 0',
    ],
    [
      'binary data that is not there',
      'mlp',
      { inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }] },
      'input "x": binary_data_size is 16, but 0 bytes are left',
    ],
    [
      'data twice',
      'mlp',
      { inputs: [{ ...X, parameters: { binary_data_size: 16 } }] },
      'input "x": has both data and binary_data_size',
    ],
  ])('%s', async (_, model, body, error) => {
    const service = new FakeService(MODELS);
    const { http } = await openHttp(service);
    const answer = await http.post(`/v2/models/${model}/infer`, body);
    expect(answer.status).toBe(400);
    if (typeof error === 'string') expect(answer.json).toEqual({ error });
    else expect(answer.json.error).toMatch(error);
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
