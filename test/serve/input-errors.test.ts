import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { INFER, LOAD, STATUS_INVALID_INPUT, STATUS_OK } from '../../src/core/action.js';
import type { WorkerModel } from '../../src/live/model.js';
import { ModelHost } from '../../src/live/worker/executor/model-host.js';
import { CPU } from '../live/models/fixtures.js';
import { encodeGraph, node } from '../live/models/small-graph.js';
import { fileModels, keptLog, serve } from './fixtures.js';

/** Ten rows to look up, each twice its index; y = table[x]. */
const LOOKUP = encodeGraph({
  inputs: [{ name: 'x', dims: ['n', 1], type: 'INT64' }],
  outputs: [{ name: 'y', dims: ['n', 1] }],
  nodes: [{ op: 'Gather', inputs: ['table', 'x'], outputs: ['y'] }],
  weights: { table: { dims: [10], floats: Array.from({ length: 10 }, (_, i) => 2 * i) } },
});
/** y = a + b, of any sizes that go together. */
const SUM = encodeGraph({
  inputs: [
    { name: 'a', dims: [1, 'p'] },
    { name: 'b', dims: [1, 'q'] },
  ],
  outputs: [{ name: 'y', dims: [1, 'r'] }],
  nodes: [{ op: 'Add', inputs: ['a', 'b'], outputs: ['y'] }],
});
/** Gives as many elements as its input says, and their sum for as many as there is memory for. */
const SIZED = encodeGraph({
  inputs: [{ name: 'x', dims: [1], type: 'INT64' }],
  outputs: [{ name: 'y', dims: [1] }],
  nodes: [node('Expand', ['one', 'x'], 'all'), node('ReduceSum', ['all'], 'y')],
  weights: { one: { dims: [1], floats: [1] } },
});
const SLO = { slo_ms: 60_000 };

const models = (): Promise<WorkerModel[]> => fileModels({ lookup: LOOKUP, sum: SUM, sized: SIZED });

/** No source files, folders or stacks. */
const NO_INNARDS = /^(?!.*(?:\.cc|\.[jt]s\b|node_modules|\s\/\w|\bat \S+:\d)).*$/;

it('inputs that a model cannot compute are the client’s mistake, and no device has failed', async () => {
  const { log, lines } = keptLog('error');
  const { http, metrics } = await serve({ devices: [CPU], models: await models() }, [], { log });
  const sum = (a: number[], b: number[]) => {
    const tensor = (name: string, data: number[]) => ({
      name,
      datatype: 'FP32',
      shape: [1, data.length],
      data,
    });
    return http.post('/v2/models/sum/infer', { parameters: SLO, inputs: [tensor('a', a), tensor('b', b)] });
  };
  expect((await sum([1, 2], [3, 4])).json.outputs[0].data).toEqual([4, 6]);
  const { status, json } = await sum([1, 2], [3, 4, 5]);
  expect([status, json.error]).toEqual([
    400,
    expect.stringMatching(/^the model cannot compute these inputs: .*broadcast/i),
  ]);
  expect(json.error).toMatch(NO_INNARDS);
  expect((await sum([1], [3, 4])).json.outputs[0].data).toEqual([4, 5]);
  expect(lines).toEqual([]);
  expect((await metrics.get('/healthz')).status).toBe(200);
  const { text } = await metrics.get('/metrics');
  expect(text).toContain('escapement_actions_total{action="INFER",status="invalid_input"} 1\n');
  expect(text).not.toContain('device_error');
  expect(text).toContain('escapement_invalid_inputs_total{model="sum"} 1\n');
  expect(text).toContain('escapement_requests_total{outcome="error"} 1\n');
});

it('a run that takes more memory than there is fails with that reason, and the next one is well', async () => {
  const { http } = await serve({ devices: [CPU], models: await models() });
  const sized = (elements: number) => {
    const x = { name: 'x', datatype: 'INT64', shape: [1], data: [elements] };
    return http.post('/v2/models/sized/infer', { parameters: SLO, inputs: [x] });
  };
  expect((await sized(3)).json.outputs[0].data).toEqual([3]);
  const { status, json } = await sized(2 ** 48);
  expect([status, json.error]).toEqual([500, expect.stringMatching(/^the model fails at .*alloc/i)]);
  expect(json.error).toMatch(NO_INNARDS);
  expect((await sized(4)).json.outputs[0].data).toEqual([4]);
});

it('a batch that fails is run again, each request alone', async () => {
  const model = (await models()).find(({ spec }) => spec.name === 'lookup') as WorkerModel;
  const bytes = new Uint8Array(readFileSync(model.ortPath as string));
  const host = new ModelHost(CPU, new Map([[0, { model, bytes }]]));
  const order = { id: 1, model: 0, batchIndex: 2, latestNs: Number.POSITIVE_INFINITY };
  await host.perform({ ...order, kind: LOAD, count: 1, inputs: [] });
  const infer = (rows: number[], apart = false) => {
    const whole = new Uint8Array(BigInt64Array.from(rows, BigInt).buffer);
    const inputs = apart ? rows.map((_, i) => whole.slice(8 * i, 8 * i + 8)) : [whole];
    return host.perform({ ...order, kind: INFER, count: rows.length, inputs });
  };
  for (const apart of [false, true]) {
    const some = await infer([3, 99, 4], apart);
    expect(some).toMatchObject({ status: STATUS_OK, error: '' });
    expect(some?.inputErrors).toEqual(['', expect.stringContaining('out of'), '']);
    expect(some?.outputs.map(({ buffer }) => new Float32Array(buffer)[0])).toEqual([6, 0, 8]);
    const none = await infer([99, -99], apart);
    expect(none).toMatchObject({ status: STATUS_INVALID_INPUT, error: '', outputs: [] });
    expect(none?.inputErrors).toHaveLength(2);
    const all = await infer([3, 4], apart);
    expect(all).toMatchObject({ status: STATUS_OK });
    expect(all?.inputErrors).toBeUndefined();
  }
});
