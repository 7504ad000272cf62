import { Tensor } from 'onnxruntime-node';
import { expect, it, onTestFinished } from 'vitest';
import { openSession } from '../../src/live/ort/open-session.js';
import { RepositorySource } from '../../src/serve/repository-source.js';
import { fetchStatus } from '../../src/tools/top/fetch-status.js';
import { tempDir } from '../cli/run-cli.js';
import { CPU, scalingModel, writeIn } from '../live/models/fixtures.js';
import { encodeGraph, node } from '../live/models/small-graph.js';
import { PAGE_BYTES, type Running, serve } from './fixtures.js';

const value = (name: string) => ({ name, dims: ['n', 2] });
const GRAPHS = {
  square: encodeGraph({
    inputs: [value('x')],
    outputs: [value('y')],
    nodes: [node('Mul', ['x', 'x'], 'y')],
  }),
  less: encodeGraph({
    inputs: [value('a'), value('b')],
    outputs: [value('c')],
    nodes: [node('Sub', ['a', 'b'], 'c')],
  }),
};

const SQUARE = step('square', { x: 'IN' }, { y: 'middle' });
const LESS = step('less', { a: 'middle', b: 'IN' }, { c: 'OUT' });
const input = (rest = 'data_type: TYPE_FP32 dims: [ 2 ]') => `input { name: "IN" ${rest} }`;
const output = (name: string) => `output { name: "${name}" data_type: TYPE_FP32 dims: [ 2 ] }`;
const HEAD = 'platform: "ensemble" max_batch_size: 8';
const HEAD_AND_TENSORS = `${HEAD} ${input()} ${output('OUT')}`;

function step(model: string, inputs: Record<string, string>, outputs: Record<string, string>, rest = '') {
  const map = (name: string, entries: Record<string, string>) =>
    Object.entries(entries).map(([key, tensor]) => `${name} { key: "${key}" value: "${tensor}" }`);
  const maps = [...map('input_map', inputs), ...map('output_map', outputs)];
  return `step { model_name: "${model}" ${rest} ${maps.join(' ')} }`;
}

const scheduled = (...steps: string[]) => `ensemble_scheduling { ${steps.join(' ')} }`;

/** Serves a repository of the graphs and of ensembles, by name their `config.pbtxt`. */
async function start(ensembles: Readonly<Record<string, string>>) {
  const dir = tempDir();
  for (const [name, onnx] of Object.entries(GRAPHS)) writeIn(dir, `${name}/1/model.onnx`, onnx);
  writeIn(dir, 'one/1/model.onnx', scalingModel(1));
  for (const [name, text] of Object.entries(ensembles)) writeIn(dir, `${name}/config.pbtxt`, text);
  const options = { device: CPU, pageBytes: PAGE_BYTES, cacheDir: null, measure: 'none' as const };
  const source = new RepositorySource({ dirs: [dir], precision: 'fp32', options }, () => {});
  onTestFinished(() => source.close());
  const running = await serve({ devices: [CPU], models: [], source, pages: 20 }, ['slo=20s']);
  return { dir, ...running };
}

async function infer({ http }: Pick<Running, 'http'>, name: string, data: readonly number[]) {
  const inputs = [{ name: 'IN', datatype: 'FP32', shape: [data.length / 2, 2], data }];
  const { status, json } = await http.post(`/v2/models/${name}/infer`, { inputs });
  return { status, json: json as never as { error: string; outputs: object[] } };
}

async function reasonsOf({ http }: Pick<Running, 'http'>) {
  const { json } = await http.post('/v2/repository/index');
  const rows = json as never as { name: string; state: string; reason: string }[];
  return Object.fromEntries(rows.map(({ name, state, reason }) => [name, state === 'READY' ? '' : reason]));
}

it('serves an ensemble of a repository as its models one after the other', async () => {
  // The steps in the other order, in a folder with an empty version, as Triton wants them.
  const running = await start({ both: `name: "both" ${HEAD_AND_TENSORS} ${scheduled(LESS, SQUARE)}` });
  const { dir, http } = running;
  const data = [1, 2, 3, 4, 5, 6];
  const [square, less] = await Promise.all(
    [GRAPHS.square, GRAPHS.less].map((onnx) => openSession(onnx, CPU, { level: 'all' })),
  );
  const x = new Tensor('float32', data, [3, 2]);
  const { y } = await square!.run({ x });
  const { c } = await less!.run({ a: y!, b: x });
  const expected = [{ name: 'OUT', datatype: 'FP32', shape: [3, 2], data: Array.from(c!.data as never) }];
  expect((await infer(running, 'both', data)).json.outputs).toEqual(expected);
  expect((await http.get('/v2/models/both')).json).toMatchObject({
    platform: 'ensemble',
    inputs: [{ name: 'IN', shape: [-1, 2] }],
    outputs: [{ name: 'OUT', shape: [-1, 2] }],
  });
  expect((await http.get('/v2/models/both/config')).json).toMatchObject({ max_batch_size: 8 });
  expect((await http.post('/v2/repository/models/both/unload')).json).toMatchObject({
    error: expect.stringContaining('unload one of them'),
  });
  // A new form of it, and a wrong one, come with a load.
  const other = step('square', { x: 'middle' }, { y: 'OUT' });
  writeIn(dir, 'both/config.pbtxt', `${HEAD_AND_TENSORS} ${scheduled(SQUARE, other)}`);
  expect((await infer(running, 'both', data)).json.outputs).toEqual(expected);
  expect((await http.post('/v2/repository/models/both/load')).status).toBe(200);
  expect((await infer(running, 'both', [1, 2])).json.outputs).toMatchObject([{ data: [1, 16] }]);
  writeIn(dir, 'both/config.pbtxt', `${HEAD_AND_TENSORS} ${scheduled(SQUARE)}`);
  const { status, json } = await http.post('/v2/repository/models/both/load');
  const stays = 'the pipeline loaded before stays in service';
  expect([status, json.error]).toEqual([
    500,
    `model "both" cannot be loaded: both/config.pbtxt: nothing yields output OUT; ${stays}`,
  ]);
  writeIn(dir, 'both/config.pbtxt', `${HEAD} max_inflight_requests`);
  const broken = await http.post('/v2/repository/models/both/load');
  expect(broken.json).toMatchObject({
    error: expect.stringMatching(
      /^model "both" cannot be loaded: .*config\.pbtxt:1: .*; the pipeline loaded/,
    ),
  });
  expect((await http.post('/v2/repository/index')).json).toContainEqual({
    ...{ name: 'both', version: '1', state: 'READY' },
    reason: expect.stringMatching(
      /^serves the pipeline loaded before; its replacement is rejected: .*config\.pbtxt:1: /,
    ),
  });
  expect((await infer(running, 'both', [1, 2])).json.outputs).toMatchObject([{ data: [1, 16] }]);
  // It leaves with its models, and comes with them once its file is right.
  expect((await http.post('/v2/repository/models/square/unload')).status).toBe(200);
  expect((await infer(running, 'both', data)).status).toBe(503);
  const { by } = await fetchStatus(`http://127.0.0.1:${running.server.metrics?.port}`);
  expect([by.pipeline, by.step]).toEqual([undefined, undefined]);
  writeIn(dir, 'both/config.pbtxt', `${HEAD_AND_TENSORS} ${scheduled(LESS, SQUARE)}`);
  expect((await http.post('/v2/repository/models/both/load')).status).toBe(200);
  expect((await infer(running, 'both', data)).json.outputs).toEqual(expected);
});

const REFUSED: Readonly<Record<string, readonly [string, RegExp]>> = {
  absent: [
    `${HEAD_AND_TENSORS} ${scheduled(step('none', {}, { y: 'OUT' }))}`,
    /there is no model none; known: .*less, /,
  ],
  old: [
    `${HEAD_AND_TENSORS} ${scheduled(step('square', { x: 'IN' }, { y: 'OUT' }, 'model_version: 3'))}`,
    /step square: there is no version 3 of model square, only 1$/,
  ],
  limited: [
    `${HEAD_AND_TENSORS} ensemble_scheduling { max_inflight_requests: 4 ${SQUARE} ${LESS} }`,
    /config\.pbtxt:1: max_inflight_requests: has no counterpart here: leave it out/,
  ],
  apart: [`${HEAD_AND_TENSORS} ${scheduled(SQUARE)}`, /nothing yields output OUT/],
  neither: [
    `${HEAD_AND_TENSORS} ${scheduled(step('squre', { x: 'IN' }, { y: 'OUT' }, 'model_version: 3'))}`,
    /there is no model squre; did you mean square\?$/,
  ],
  unfed: [`${HEAD_AND_TENSORS} ${scheduled(LESS)}`, /step less: nothing yields tensor middle, its input a/],
  twice: [
    `${HEAD_AND_TENSORS} ${scheduled(SQUARE, SQUARE, LESS)}`,
    /step square-2 yields tensor middle, which is what step square yields, too/,
  ],
  given: [
    `${HEAD_AND_TENSORS} ${scheduled(step('square', { x: 'IN' }, { y: 'IN' }))}`,
    /yields tensor IN, which is an input of the ensemble, too/,
  ],
  round: [
    `${HEAD_AND_TENSORS} ${scheduled(step('square', { x: 'OUT' }, { y: 'middle' }), LESS)}`,
    /form a cycle: square after less after square/,
  ],
  typed: [
    `${HEAD} ${input('data_type: TYPE_INT64 dims: [ 2 ]')} ${output('OUT')} ${scheduled(SQUARE, LESS)}`,
    /input IN is declared as INT64 \[-1,2\], and its steps take FP32 \[-1,2\]/,
  ],
  wide: [
    `${HEAD} ${input('data_type: TYPE_FP32 dims: [ 3 ]')} ${output('OUT')} ${scheduled(SQUARE, LESS)}`,
    /input IN is declared as FP32 \[-1,3\]/,
  ],
  unsized: [
    `${HEAD} ${input('data_type: TYPE_FP32')} ${output('OUT')} ${scheduled(SQUARE, LESS)}`,
    /input: IN of an ensemble needs dims/,
  ],
  whole: [
    `platform: "ensemble" ${input()} ${output('OUT')} ${scheduled(SQUARE, LESS)}`,
    /input IN is declared as FP32 \[2\], and its steps take FP32 \[-1,2\]: set max_batch_size above 0/,
  ],
  hidden: [
    `${HEAD} ${input()} ${output('OUT')} ${output('more')} ${scheduled(SQUARE, LESS)}`,
    /nothing yields output more/,
  ],
  open: [
    `${HEAD} ${input()} ${output('OUT')} ${scheduled(step('less', { a: 'IN' }, { c: 'OUT' }))}`,
    /step less: its input_map lacks b, an input of its model/,
  ],
  mixed: [
    `${HEAD_AND_TENSORS} ${scheduled(SQUARE, step('one', { x: 'middle' }, { y: 'OUT' }))}`,
    /input x takes FP32 \[\S+\], and square\.y is FP32 \[2\]/,
  ],
  alone: [`${HEAD_AND_TENSORS}`, /"ensemble" and ensemble_scheduling need each other/],
  empty: [`${HEAD_AND_TENSORS} ensemble_scheduling { }`, /it has 0 steps/],
};

it('says in one line why an ensemble cannot be served, and serves the others', async () => {
  const texts = Object.entries(REFUSED).map(([name, [text]]) => [name, text]);
  const running = await start({
    ...Object.fromEntries(texts),
    fine: `${HEAD_AND_TENSORS} ${scheduled(SQUARE, LESS)}`,
  });
  const reasons = await reasonsOf(running);
  for (const [name, [, reason]] of Object.entries(REFUSED)) expect(reasons[name], name).toMatch(reason);
  expect(reasons).toMatchObject({ square: '', less: '', fine: '' });
  expect((await infer(running, 'fine', [3, 4])).json.outputs).toMatchObject([{ data: [6, 12] }]);
});
