import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { WORKER_LOST } from '../../../src/live/service.js';
import { echo, echoModel, FakeService, failure } from './fake-service.js';
import { openGrpc } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const MODELS = [
  echoModel('mlp', true, [['x', 'FP32', [2]]], 25_000_000),
  echoModel('two', false, [
    ['a', 'INT8', [2]],
    ['b', 'FP16', [1]],
  ]),
];

const clients: GrpcClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

describe('what the server tells', () => {
  it('is live, and ready when the service is', async () => {
    const { client, service } = await serve();
    service.notReady = 'draining';
    expect(await client.call('ServerLive', {})).toEqual({ live: true });
    expect(await client.call('ServerReady', {})).toEqual({ ready: false });
    expect(await client.call('ModelReady', { name: 'mlp' })).toEqual({ ready: false });
    service.notReady = null;
    expect(await client.call('ServerReady', {})).toEqual({ ready: true });
    expect(await client.call('ModelReady', { name: 'mlp', version: '1' })).toEqual({ ready: true });
  });

  it('lists, unloads and loads models', async () => {
    const { client } = await serve();
    await client.call('RepositoryModelUnload', { model_name: 'mlp' });
    expect((await client.call('RepositoryIndex', {})).models).toEqual([
      { name: 'mlp', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
      { name: 'two', version: '1', state: 'READY', reason: '' },
    ]);
    expect((await client.call('RepositoryIndex', { ready: true })).models).toHaveLength(1);
    await expect(client.call('ModelInfer', mlp([1, 2]))).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: 'model "mlp" is unloaded; load it through the model repository',
    });
    await client.call('RepositoryModelLoad', { model_name: 'mlp' });
    expect(await client.call('ModelReady', { name: 'mlp' })).toEqual({ ready: true });
    const configured = { model_name: 'mlp', parameters: { priority: { string_param: 'high' } } };
    await expect(client.call('RepositoryModelLoad', configured)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
  });
});

describe('ModelInfer', () => {
  it('takes raw contents and answers with them', async () => {
    const { client, service } = await serve();
    const answer = await client.call('ModelInfer', mlp([1, Number.NaN]));
    expect(answer).toMatchObject({
      model_name: 'mlp',
      model_version: '1',
      id: 'seven',
      parameters: {
        batch_size: { parameter_choice: 'int64_param', int64_param: '1' },
        slo_met: { parameter_choice: 'bool_param', bool_param: true },
      },
      outputs: [{ name: 'out-x', datatype: 'FP32', shape: ['1', '2'] }],
      raw_output_contents: [floats(1, Number.NaN)],
    });
    expect(Buffer.from(service.requests[0].inputs[0])).toEqual(floats(1, Number.NaN));
  });

  it('takes an empty list of elements next to raw contents for none, and refuses one that has some', async () => {
    const { client } = await serve();
    const withContents = (contents: object) => {
      const request = mlp([1, 2]);
      return { ...request, inputs: request.inputs.map((input) => ({ ...input, contents })) };
    };
    const answer = await client.call('ModelInfer', withContents({}));
    expect(answer.raw_output_contents).toEqual([floats(1, 2)]);
    await expect(client.call('ModelInfer', withContents({ fp32_contents: [1, 2] }))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'input "x": has both contents and raw_input_contents',
    });
  });

  it('splits a batch and joins the answers', async () => {
    const { client, service } = await serve();
    service.answer = (request, nth) => ({
      ...echo(request),
      batchSize: 4,
      outcome: nth === 2 ? OUTCOME_LATE : 0,
    });
    const answer = await client.call('ModelInfer', mlp([1, 2, 3, 4, 5, 6]));
    expect(service.requests.map(({ inputs }) => Buffer.from(inputs[0]))).toEqual([
      floats(1, 2),
      floats(3, 4),
      floats(5, 6),
    ]);
    expect(answer).toMatchObject({
      parameters: { batch_size: { int64_param: '4' }, slo_met: { bool_param: false } },
      outputs: [{ shape: ['3', '2'] }],
      raw_output_contents: [floats(1, 2, 3, 4, 5, 6)],
    });
  });

  it('takes the SLO from slo_ms, timeout or the model', async () => {
    const { client, service } = await serve();
    await client.call('ModelInfer', mlp([1, 2], { slo_ms: { double_param: 1.5 } }));
    await client.call('ModelInfer', mlp([1, 2], { slo_ms: { int64_param: 3 } }));
    await client.call('ModelInfer', mlp([1, 2], { timeout: { uint64_param: 4000 } }));
    await client.call('ModelInfer', mlp([1, 2]));
    expect(service.requests.map(({ sloNs }) => sloNs)).toEqual([1_500_000, 3_000_000, 4_000_000, 25_000_000]);
  });

  it('passes the trace on, if it is one', async () => {
    const { client, service } = await serve();
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    for (const traceparent of [
      trace,
      'hello world',
      `${trace}-${'0'.repeat(999)}`,
      trace.replace('00', 'ff'),
    ])
      await client.call('ModelInfer', mlp([1, 2]), { traceparent });
    expect(service.requests.map((request) => request.trace)).toEqual([trace, null, null, null]);
  });

  it('waits no longer than the call itself', async () => {
    const { client, service } = await serve();
    const slo = { slo_ms: { int64_param: 3_600_000 } };
    await client.call('ModelInfer', mlp([1, 2], slo), {}, { deadline: deadlineIn(600_000) });
    // An arrival that a busy process read late is stamped earlier, so the SLO may be a little longer.
    expect(service.requests[0].sloNs).toBeLessThanOrEqual(610_000 * 1e6);
    expect(service.requests[0].sloNs).toBeGreaterThan(0);
    await client.call('ModelInfer', mlp([1, 2]), {}, { deadline: deadlineIn(600_000) });
    expect(service.requests[1].sloNs).toBe(25_000_000);
  });
});

describe('API errors', () => {
  it.each([
    [
      'elements in the wrong list',
      typed('mlp', { name: 'x', datatype: 'FP32', shape: [1, 2], contents: { fp64_contents: [1, 2] } }),
      status.INVALID_ARGUMENT,
      'input "x": expected fp32_contents, got fp64_contents',
    ],
    [
      'an element out of range',
      typed('two', { name: 'a', datatype: 'INT8', shape: [2], contents: { int_contents: [1, 128] } }),
      status.INVALID_ARGUMENT,
      'input "a": element 1 is 128, expected a whole number from -128 to 127',
    ],
    [
      'typed halves',
      typed('two', { name: 'b', datatype: 'FP16', shape: [1], contents: {} }),
      status.INVALID_ARGUMENT,
      'input "b": FP16 must be sent in raw_input_contents',
    ],
    [
      'typed contents beyond their limit',
      typed('two', {
        name: 'a',
        datatype: 'INT8',
        shape: [2],
        contents: { int_contents: new Array(2000).fill(1) },
      }),
      status.RESOURCE_EXHAUSTED,
      'input "a": typed contents may take 1000 bytes; send raw_input_contents instead',
    ],
  ])('%s', async (_, request, code, details) => {
    const { client, service } = await serve(MODELS, { maxJsonBytes: 1000 });
    await expect(client.call('ModelInfer', request)).rejects.toMatchObject({ code, details });
    expect(service.requests).toEqual([]);
  });

  it('tell what became of a request', async () => {
    const { client, service } = await serve();
    service.answer = () => failure(OUTCOME_REJECTED, 42_500_000);
    const rejection = await client.call('ModelInfer', mlp([1, 2])).catch((error) => error);
    expect(rejection).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'the SLO of 25 ms cannot be met: it would take 42.500 ms',
    });
    expect(rejection.metadata.get('predicted-ms')).toEqual(['42.5']);
    service.answer = () => ({ ...failure(OUTCOME_TIMEOUT), passedNs: 24_000_000 });
    await expect(client.call('ModelInfer', mlp([1, 2]))).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      details: 'the SLO of 25 ms could not be met: it waited 24.000 ms',
    });
    service.answer = () => failure(OUTCOME_ERROR, 0, 'out of memory');
    await expect(client.call('ModelInfer', mlp([1, 2]))).rejects.toMatchObject({
      code: status.INTERNAL,
      details: 'out of memory',
    });
    service.answer = () => failure(OUTCOME_ERROR, 0, WORKER_LOST);
    await expect(client.call('ModelInfer', mlp([1, 2]))).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: WORKER_LOST,
    });
    service.notReady = 'draining';
    await expect(client.call('ModelInfer', mlp([1, 2]))).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });
});

describe('opening and closing', () => {
  it('answers what is under way', async () => {
    const { client, service, frontend } = await serve();
    service.answer = null;
    const asked = client.call('ModelInfer', mlp([1, 2]));
    while (service.requests.length === 0) await new Promise(setImmediate);
    const closed = frontend.close(true);
    service.requests[0].done(echo(service.requests[0]));
    expect((await asked).model_name).toBe('mlp');
    await closed;
  });
});

async function serve(models = MODELS, options = {}) {
  const service = new FakeService(models);
  const frontend = await openGrpc(service, options);
  const client = new GrpcClient(frontend.port);
  clients.push(client);
  return { service, frontend, client };
}

function mlp(values: readonly number[], parameters: object = {}) {
  return {
    model_name: 'mlp',
    id: 'seven',
    parameters,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length / 2, 2] }],
    raw_input_contents: [floats(...values)],
  };
}

function typed(model: string, input: object) {
  return { model_name: model, inputs: [input] };
}

function floats(...values: number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

/** Deadlines of calls are times of day, ms. */
function deadlineIn(ms: number): number {
  return performance.timeOrigin + performance.now() + ms;
}
