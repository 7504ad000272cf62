import { Tensor } from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { readServerSettings } from '../../src/config/server-settings.js';
import { openSession } from '../../src/live/ort/open-session.js';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { CPU } from '../live/models/fixtures.js';
import { encodeGraph, longs, node } from '../live/models/small-graph.js';
import { expectReplay, fileModels, keptLog, type Running, serve, until } from './fixtures.js';

/** More than a step may have requests. */
const SIZE = 260;

const times = (factor: number) =>
  encodeGraph({
    inputs: [{ name: 'x', dims: ['n', 1], type: 'INT64' }],
    outputs: [{ name: 'y', dims: ['n', 1], type: 'INT64' }],
    nodes: [node('Mul', ['x', 'factor'], 'y')],
    weights: { factor: longs(factor) },
  });

const GRAPHS = {
  // The places of all elements that are not zero, as rows of one.
  detect: encodeGraph({
    inputs: [{ name: 'mask', dims: [SIZE] }],
    outputs: [{ name: 'found', dims: ['k', 1], type: 'INT64' }],
    nodes: [node('NonZero', ['mask'], 'at'), node('Transpose', ['at'], 'found', { perm: [1, 0] })],
  }),
  classify: times(3),
  rough: times(2),
  total: encodeGraph({
    inputs: [
      { name: 'rows', dims: ['k', 1], type: 'INT64' },
      { name: 'found', dims: ['m', 1], type: 'INT64' },
    ],
    outputs: [{ name: 'sums', dims: [2, 1], type: 'INT64' }],
    nodes: [
      node('ReduceSum', ['rows', 'axis'], 'a', { keepdims: 1 }),
      node('ReduceSum', ['found', 'axis'], 'b', { keepdims: 1 }),
      node('Concat', ['a', 'b'], 'sums', { axis: 0 }),
    ],
    weights: { axis: longs(0) },
  }),
};

const EXPERIMENT = `slo: 20s
pipelines: [
  { name: solo, steps: [{ model: classify }] },
  { name: pictures, steps: [
    { model: detect },
    { model: classify, each: x, inputs: { x: detect.found } },
    { model: total, inputs: { rows: classify.y, found: detect.found } }],
    outputs: { sums: total.sums, classes: classify.y, found: detect.found } },
  { name: joined, steps: [
    { model: detect },
    { model: classify, each: x, inputs: { x: detect.found } },
    { model: total, inputs: { rows: classify.y, found: classify.y } }] },
  { name: broken, steps: [{ model: detect }, { model: classify, inputs: { x: detect.found } }] },
  { name: either, steps: [{ variants: [{ model: rough, accuracy: 60% }, { model: classify, accuracy: 90% }] }] },
  { name: unlike, steps: [{ variants: [{ model: detect, accuracy: 60% }, { model: classify, accuracy: 90% }] }] },
  { name: lost, steps: [{ model: absent }] }, { name: typo, steps: [{ model: detekt }] },
  { name: nested, steps: [{ model: solo }] },
  { name: rows, steps: [{ model: classify, each: x }] }]`;

const start = async (options = {}) => {
  const file = writeIn(tempDir(), 'pipelines.yaml', EXPERIMENT);
  const { settings } = await readServerSettings({ file, environment: [], overrides: [] });
  const models = await fileModels(GRAPHS);
  return serve({ devices: [CPU, CPU], models, pages: 20 }, [], { settings, ...options });
};

const infer = async (
  { http }: Running,
  name: string,
  input: string,
  datatype: string,
  data: number[],
  shape: number[],
) => {
  const { status, json } = await http.post(`/v2/models/${name}/infer`, {
    inputs: [{ name: input, datatype, shape, data }],
  });
  return {
    status,
    json: json as never as { error: string; outputs: { name: string; shape: number[]; data: number[] }[] },
  };
};

const maskOf = (places: readonly number[]) =>
  Array.from({ length: SIZE }, (_, i) => Number(places.includes(i)));

it('answers as its models do one after the other, whatever their number of rows, alone and together', async () => {
  const running = await start();
  const [detect, classify, total] = await Promise.all(
    [GRAPHS.detect, GRAPHS.classify, GRAPHS.total].map((onnx) => openSession(onnx, CPU, { level: 'all' })),
  );
  const expected = async (places: readonly number[]) => {
    const { found } = await detect!.run({ mask: new Tensor('float32', maskOf(places), [SIZE]) });
    const { y } = await classify!.run({ x: found! });
    const { sums } = await total!.run({ rows: y!, found: found! });
    const plain = (tensor: Tensor, shape = tensor.dims) => ({
      shape,
      data: Array.from(tensor.data as BigInt64Array, Number),
    });
    return { sums: plain(sums!), classes: plain(y!), found: plain(found!) };
  };
  const all = Array.from({ length: 24 }, (_, i) =>
    Array.from({ length: (i * 5) % 12 }, (_, k) => (i * 31 + k * 7) % SIZE),
  );
  const answers = await Promise.all(
    all.map((places) => infer(running, 'pictures', 'mask', 'FP32', maskOf(places), [SIZE])),
  );
  for (const [i, { status, json }] of answers.entries()) {
    expect(status).toBe(200);
    const outputs = Object.fromEntries(json.outputs.map(({ name, shape, data }) => [name, { shape, data }]));
    expect(outputs).toEqual(await expected([...new Set(all[i])]));
  }
  const joined = async (places: readonly number[]) =>
    (await infer(running, 'joined', 'mask', 'FP32', maskOf(places), [SIZE])).json.outputs;
  expect(await joined([1, 4])).toMatchObject([{ name: 'sums', shape: [1, 2, 1], data: [15, 15] }]);
  // What comes after skipped steps only is skipped.
  expect(await joined([])).toMatchObject([{ name: 'sums', shape: [0, 2, 1], data: [] }]);
  const alone = await infer(running, 'classify', 'x', 'INT64', [5, 7], [2, 1]);
  expect((await infer(running, 'solo', 'x', 'INT64', [5, 7], [2, 1])).json.outputs).toEqual(
    alone.json.outputs,
  );
  // There is time for the most accurate.
  expect((await infer(running, 'either', 'x', 'INT64', [5, 7], [2, 1])).json.outputs).toEqual(
    alone.json.outputs,
  );
  const { json } = await running.http.get('/v2/models/pictures');
  expect(json).toMatchObject({
    platform: 'ensemble',
    outputs: [{ shape: [2, 1] }, { shape: [-1, 1] }, { shape: [-1, 1] }],
  });
  const { bytes } = await running.metrics.get('/metrics');
  const rows = all.reduce((sum, places) => sum + new Set(places).size, 0);
  for (const [name, count] of Object.entries({
    pictures: 24,
    'pictures.detect': 24,
    'pictures.classify': rows,
  }))
    expect(bytes.toString()).toContain(
      `escapement_request_latency_seconds_count{model="${name}",outcome="ok"} ${count}\n`,
    );
  const { json: read } = await running.http.get('/v2/models/pictures/stats');
  const ran = { count: 24, ns: expect.toSatisfy((ns: number) => ns > 0) };
  expect(read).toMatchObject({
    model_stats: [
      {
        ...{ inference_count: 24, execution_count: 24 },
        inference_stats: { success: ran, queue: ran, compute_infer: ran },
      },
    ],
  });
  expect(/escapement_requests_total\{outcome="ok"\} (\d+)/.exec(bytes.toString())?.[1]).toBe('32');
  await running.server.close(0);
  await expectReplay(running.journal, 32);
});

it('says in one line why a pipeline cannot be served, or a request of it fails', async () => {
  const { log, lines } = keptLog();
  const running = await start({ log });
  const place = { file: expect.stringMatching(/pipelines\.yaml$/), line: 16 };
  expect(lines.find(({ pipeline }) => pipeline === 'lost')).toMatchObject(place);
  const { json: index } = await running.http.post('/v2/repository/index');
  const reasons = Object.fromEntries(
    (index as { name: string; reason: string }[]).map(({ name, reason }) => [name, reason]),
  );
  expect(reasons.broken).toBe(
    'not available: step classify: input x takes INT64 [1], and detect.found is INT64 [-1,1]: with each: x every request gets one row',
  );
  expect(reasons.unlike).toBe(
    'not available: step detect: its variants classify and detect differ in their tensors or batches',
  );
  expect(reasons.lost).toBe(
    'not available: step absent: there is no model absent; known: classify, detect, rough, total',
  );
  expect(reasons.typo).toBe('not available: step detekt: there is no model detekt; did you mean detect?');
  expect(reasons.nested).toBe('not available: step solo: solo is a pipeline, which cannot be a step');
  const many = await infer(
    running,
    'pictures',
    'mask',
    'FP32',
    maskOf(Array.from({ length: SIZE }, (_, i) => i)),
    [SIZE],
  );
  expect(many).toMatchObject({ status: 400 });
  expect(many.json.error).toContain(
    `step detect: ${SIZE} rows for input x of step classify, and at most 255 are possible`,
  );
  const rows = await infer(running, 'rows', 'x', 'INT64', new Array(256).fill(1), [256, 1]);
  expect([rows.status, rows.json.error]).toEqual([
    400,
    '256 rows for step classify, and at most 255 are possible',
  ]);
  // A model of its own that leaves takes the pipeline with it.
  expect((await running.http.post('/v2/repository/models/total/unload')).status).toBe(200);
  const later = await infer(running, 'pictures', 'mask', 'FP32', maskOf([1]), [SIZE]);
  expect(later.status).toBe(503);
  expect(later.json.error).toBe('model "pictures" is not available: step total: model total is unloaded');
  // A load brings the models of its steps.
  expect((await running.http.post('/v2/repository/models/pictures/load')).status).toBe(200);
  expect((await infer(running, 'pictures', 'mask', 'FP32', maskOf([1]), [SIZE])).status).toBe(200);
  expect(await running.http.post('/v2/repository/models/lost/load')).toMatchObject({
    status: 500,
    json: {
      error: expect.stringContaining('"lost" cannot be loaded: step absent: there is no model absent'),
    },
  });
  expect((await infer(running, 'solo', 'x', 'INT64', [5], [1, 1])).status).toBe(200);
  await until(() => running.server.controller.core.requests.size === 0);
});
