import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { checkBatching } from '../../../../src/live/models/measure/check-batching.js';
import { optimizeModel } from '../../../../src/live/models/optimize.js';
import { readModelFile } from '../../../../src/live/models/repository.js';
import { rejection } from '../../../config/failure.js';
import { CPU, tempDir, writeIn } from '../fixtures.js';
import { encodeGraph, longs, node, type SmallNode, type SmallWeights, scalar } from '../small-graph.js';

/** Checks a model with these lines of its config.yaml. */
async function check(onnx: Uint8Array, settings: string, isIgnored = false) {
  const dir = tempDir();
  const onnxPath = writeIn(dir, 'm/1/model.onnx', onnx);
  writeIn(dir, 'm/config.yaml', settings);
  const { signature, precision } = await readModelFile(onnxPath);
  const { ortPath } = await optimizeModel(onnxPath, 'cpu');
  const spec = { signature, batchSizes: [1, 2], device: CPU, precision, isIgnored };
  return checkBatching(new Uint8Array(readFileSync(ortPath)), spec);
}

const real = (value: number): SmallWeights => ({ dims: [], floats: [value] });

const IDS = { name: 'input_ids', dims: ['batch', 'sequence'], type: 'INT64' } as const;
const MASK = { name: 'attention_mask', dims: ['batch', 'sequence'], type: 'INT64' } as const;
const EMBEDDED = node('Gather', ['table', 'input_ids'], 'vectors');
const TABLE = { table: { dims: [3, 2], floats: [0.5, -1, 2, 3, -4, 1] } };

/** A vector for each token, and their mean over tokens whose `weights` are 1. */
function pooled(weights: readonly SmallNode[], constants: Record<string, SmallWeights>, hasMask: boolean) {
  return encodeGraph({
    inputs: hasMask ? [IDS, MASK] : [IDS],
    outputs: [{ name: 'mean', dims: ['batch', 2] }],
    nodes: [
      EMBEDDED,
      ...weights,
      node('Unsqueeze', ['weights', 'two'], 'column'),
      node('Mul', ['vectors', 'column'], 'weighted'),
      node('ReduceSum', ['weighted', 'one'], 'sum', { keepdims: 0 }),
      node('ReduceSum', ['column', 'one'], 'count', { keepdims: 0 }),
      node('Div', ['sum', 'count'], 'mean'),
    ],
    weights: { ...TABLE, one: longs(1), two: longs(2), ...constants },
  });
}

const REALS = 1;
const masked = pooled([node('Cast', ['attention_mask'], 'weights', { to: REALS })], {}, true);
/** The mask is 1 where padding is. */
const inverted = pooled(
  [node('Cast', ['attention_mask'], 'absent', { to: REALS }), node('Sub', ['whole', 'absent'], 'weights')],
  { whole: real(1) },
  true,
);
const ignoring = pooled(
  [
    node('Cast', ['attention_mask'], 'mask', { to: REALS }),
    node('Mul', ['mask', 'nothing'], 'zeros'),
    node('Add', ['zeros', 'whole'], 'weights'),
  ],
  { nothing: real(0), whole: real(1) },
  true,
);
/** Token 0 is padding. */
const byToken = pooled(
  [
    node('Equal', ['input_ids', 'pad'], 'isPad'),
    node('Not', ['isPad'], 'isToken'),
    node('Cast', ['isToken'], 'weights', { to: REALS }),
  ],
  { pad: scalar(0) },
  false,
);
/** How many tokens there are, with padding. */
const byLength = encodeGraph({
  inputs: [IDS],
  outputs: [{ name: 'tokens', dims: ['batch'], type: 'INT64' }],
  nodes: [
    node('Mul', ['input_ids', 'zero'], 'zeros'),
    node('Add', ['zeros', 'one'], 'ones'),
    node('ReduceSum', ['ones', 'axis'], 'tokens', { keepdims: 0 }),
  ],
  weights: { zero: scalar(0), one: scalar(1), axis: longs(1) },
});

const BUCKETS = 'buckets: [1, 4, 8]\n';
const encoder = (precision: 'fp32' | 'fp16') =>
  makeModel('encoder', { input: 16, seed: 3, classes: 4, precision }).onnx;

describe('padding changes nothing', () => {
  it.each<[string, Uint8Array, string]>([
    ['of an encoder with a mask', encoder('fp32'), 'fill: { input_ids: 0, attention_mask: 0 }'],
    ['whatever its tokens', encoder('fp32'), 'fill: { input_ids: 30521, attention_mask: 0 }'],
    ['at FP16', encoder('fp16'), 'fill: { input_ids: 1, attention_mask: 0 }'],
    ['of a mean over masked tokens', masked, 'fill: { input_ids: 0, attention_mask: 0 }'],
    ['with a mask that says what is absent', inverted, 'fill: { input_ids: 1, attention_mask: 1 }'],
    ['where a token means padding', byToken, 'fill: { input_ids: 0 }'],
  ])('%s', async (_, onnx, fill) => {
    expect((await check(onnx, BUCKETS + fill)).padding).toEqual({
      same: true,
      what: 'padded inputs give the same answers as unpadded ones',
    });
  });
});

describe('padding that changes answers is refused', () => {
  it.each<[string, Uint8Array, string, string]>([
    ['by a mask that is padded with 1', encoder('fp32'), 'input_ids: 0, attention_mask: 1', 'differs'],
    ['by a mask that is ignored', ignoring, 'input_ids: 0, attention_mask: 0', 'differs'],
    ['by a mask of what is absent', inverted, 'input_ids: 0, attention_mask: 0', 'differs'],
    ['by another token than the one that means padding', byToken, 'input_ids: 2', 'differs'],
    [
      'by an unknown token',
      masked,
      'input_ids: 9, attention_mask: 0',
      ': the model cannot compute a length of',
    ],
    [
      'by the length itself',
      byLength,
      'input_ids: 0',
      'output tokens differs by 3, and its values go up to 1, for a length of 1 padded to 4',
    ],
  ])('%s', async (_, onnx, fill, what) => {
    const error = await rejection(check(onnx, `${BUCKETS}fill: { ${fill} }`));
    expect([error.code, error.message]).toEqual(['E_MODEL_FILE', expect.stringContaining(what)]);
    expect(error.message).toMatch(/^gives other answers to inputs that are padded as "fill" .*[^\n]*$/);
  });

  it('unless config.yaml says "batch: rows": then the result says so', async () => {
    const settings = `${BUCKETS}batch: rows\nfill: { input_ids: 0, attention_mask: 0 }`;
    const { independent, padding } = await check(ignoring, settings, true);
    expect([independent, padding]).toEqual([true, { same: false, what: expect.stringContaining('differs') }]);
  });
});

it('is not looked at where nothing is padded', async () => {
  expect((await check(ignoring, BUCKETS)).padding).toBeUndefined();
  expect(
    (await check(ignoring, 'buckets: [1]\nfill: { input_ids: 0, attention_mask: 0 }')).padding,
  ).toBeUndefined();
});
