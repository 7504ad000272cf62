import { expect, it } from 'vitest';
import { repositoryModels } from '../../src/serve/prepare-model.js';
import { CPU, ELEMENT_TYPES, identityModel, tempDir, writeIn } from '../live/models/fixtures.js';
import { encodeGraph } from '../live/models/small-graph.js';
import { PAGE_BYTES, serve } from './fixtures.js';

/** Rows that depend on each other: y = x minus the largest of all. */
const MIXED = encodeGraph({
  inputs: [{ name: 'x', dims: ['n', 5] }],
  outputs: [{ name: 'y', dims: ['n', 5] }],
  nodes: [
    { op: 'ReduceMax', inputs: ['x'], outputs: ['most'] },
    { op: 'Sub', inputs: ['x', 'most'], outputs: ['y'] },
  ],
});
const ROWS = [1, 9, 3, 7, 5, 60, 20, 90, 30, 10];

it('a declared batch stays one even if its requests run alone: classes are those of each row', async () => {
  const dir = tempDir();
  const add = (name: string, onnx: Uint8Array, config: string) => {
    writeIn(dir, `${name}/1/model.onnx`, onnx);
    writeIn(dir, `${name}/config.pbtxt`, config);
  };
  add('free', identityModel(ELEMENT_TYPES.FP32, ['n', 'm']), 'max_batch_size: 8');
  add('mixed', MIXED, 'max_batch_size: 8');
  add('whole', identityModel(ELEMENT_TYPES.FP32, ['n', 'm']), 'max_batch_size: 0');
  const models = await repositoryModels(dir, CPU, PAGE_BYTES, () => {});
  const { http } = await serve({ devices: [CPU], models });
  const classify = async (model: string, output: string) => {
    const { json } = await http.post(`/v2/models/${model}/infer`, {
      parameters: { slo_ms: 60_000 },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 5], data: ROWS }],
      outputs: [{ name: output, parameters: { classification: 2 } }],
    });
    return json.outputs[0];
  };
  const ofRows = { shape: [2, 2], data: ['9:1', '7:3', '90:2', '60:0'] };
  expect(await classify('free', 'y')).toMatchObject(ofRows);
  expect(await classify('mixed', 'y')).toMatchObject({
    shape: [2, 2],
    data: ['-81:1', '-83:3', '0:2', '-30:0'],
  });
  expect(await classify('whole', 'y')).toMatchObject({ shape: [2], data: ['90:7', '60:5'] });
  const config = async (model: string) => (await http.get(`/v2/models/${model}/config`)).json;
  expect(await config('free')).toMatchObject({
    max_batch_size: 8,
    input: [{ dims: [-1] }],
    output: [{ dims: [-1] }],
  });
  expect(await config('mixed')).toMatchObject({ max_batch_size: 8, input: [{ dims: [5] }] });
  expect(await config('whole')).toMatchObject({ max_batch_size: 0, input: [{ dims: [-1, -1] }] });
});
