import { describe, expect, it } from 'vitest';
import { OUTCOME_LATE } from '../../../src/core/request.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { openHttp, tensor } from './fixtures.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]], 25_000_000);
const FIXED = echoModel('fixed', false, [
  ['a', 'FP32', [2, 3]],
  ['b', 'INT32', [2]],
]);
const X = tensor('x', 'FP32', [1, 4], [1, 2.5, -3, 1e-7]);

describe('JSON tensors', () => {
  it('go to the service as bytes and come back as numbers', async () => {
    const service = new FakeService([MLP]);
    const { http } = await openHttp(service);
    const { status, json } = await http.post('/v2/models/mlp/infer', { id: 'q "1"', inputs: [X] });
    expect(status).toBe(200);
    expect(json).toEqual({
      id: 'q "1"',
      model_name: 'mlp',
      model_version: '1',
      parameters: { batch_size: 1, slo_met: true },
      outputs: [tensor('out-x', 'FP32', [1, 4], [1, 2.5, -3, Math.fround(1e-7)])],
    });
    expect(Buffer.from(service.requests[0].inputs[0])).toEqual(floats(1, 2.5, -3, 1e-7));
  });

  it.each([
    ['BOOL', [true, false]],
    ['UINT8', [0, 255]],
    ['UINT16', [0, 65535]],
    ['UINT32', [0, 4294967295]],
    ['UINT64', [0, Number.MAX_SAFE_INTEGER]],
    ['INT8', [-128, 127]],
    ['INT16', [-32768, 32767]],
    ['INT32', [-2147483648, 2147483647]],
    ['INT64', [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]],
    ['FP16', [-1.5, 65504]],
    ['FP32', [Math.fround(0.1), -3.4e38].map(Math.fround)],
    ['FP64', [0.1, -1.7976931348623157e308]],
  ] as const)('of %s make the round trip', async (datatype, data) => {
    const { http } = await openHttp(new FakeService([echoModel('m', true, [['x', datatype, [2]]])]));
    const { json } = await http.post('/v2/models/m/infer', { inputs: [tensor('x', datatype, [1, 2], data)] });
    expect(json.outputs).toEqual([tensor('out-x', datatype, [1, 2], data)]);
  });

  it('keep all digits of a long integer on the way out', async () => {
    const service = new FakeService([echoModel('m', true, [['x', 'INT64', [1]]])]);
    service.answer = (request) => ({
      ...echo(request),
      outputs: [new Uint8Array(BigInt64Array.of(-9007199254740993n).buffer)],
    });
    const { http } = await openHttp(service);
    const { text } = await http.post('/v2/models/m/infer', { inputs: [tensor('x', 'INT64', [1, 1], [0])] });
    expect(text).toContain('"data":[-9007199254740993]');
  });
});

describe('binary tensors', () => {
  it('mix with JSON tensors, and each output is as it was asked for', async () => {
    const { http } = await openHttp(new FakeService([FIXED]));
    const { body, headers } = binary(
      {
        inputs: [
          tensor('a', 'FP32', [2, 3], [1, 2, 3, 4, 5, 6]),
          { name: 'b', datatype: 'INT32', shape: [2], parameters: { binary_data_size: 8 } },
        ],
        outputs: [{ name: 'out-b', parameters: { binary_data: false } }, { name: 'out-a' }],
        parameters: { binary_data_output: true },
      },
      new Uint8Array(Int32Array.of(9, 10).buffer),
    );
    const answer = await http.post('/v2/models/fixed/infer', body, headers);
    const length = Number(answer.headers.get('inference-header-content-length'));
    expect(JSON.parse(answer.bytes.toString('utf8', 0, length)).outputs).toEqual([
      tensor('out-b', 'INT32', [2], [9, 10]),
      { name: 'out-a', datatype: 'FP32', shape: [2, 3], parameters: { binary_data_size: 24 } },
    ]);
    expect(answer.bytes.subarray(length)).toEqual(floats(1, 2, 3, 4, 5, 6));
  });
});

describe('a batch', () => {
  const BATCH = tensor('x', 'FP32', [3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

  it('met its SLO only if all of it did', async () => {
    const service = new FakeService([MLP]);
    service.answer = (request, nth) =>
      nth === 1 ? { ...echo(request), outcome: OUTCOME_LATE } : echo(request);
    const { http } = await openHttp(service);
    const { status, json } = await http.post('/v2/models/mlp/infer', { inputs: [BATCH] });
    expect([status, json.parameters.slo_met]).toEqual([200, false]);
  });
});

function floats(...values: number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

function binary(head: object, ...tensors: Uint8Array[]) {
  const json = Buffer.from(JSON.stringify(head));
  return {
    body: Buffer.concat([json, ...tensors]),
    headers: { 'Inference-Header-Content-Length': String(json.length) },
  };
}
