import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkBatching } from '../../../../src/live/models/measure/check-batching.js';
import { toleranceOf } from '../../../../src/live/models/measure/comparer.js';
import { optimizeModel } from '../../../../src/live/models/optimize.js';
import { readModelFile } from '../../../../src/live/models/repository.js';
import { CPU, ELEMENT_TYPES, identityModel, tempDir, writeIn } from '../fixtures.js';
import { encodeGraph, longs, node, oneToOne, scalar } from '../small-graph.js';

const ROWS = ['n', 3];

async function check(onnx: Uint8Array, batchSizes: readonly number[] = [1, 2, 4, 8]) {
  const onnxPath = writeIn(tempDir(), join('1', 'm.onnx'), onnx);
  const { signature, precision } = await readModelFile(onnxPath);
  expect(signature.batched).toBe(true);
  const { ortPath } = await optimizeModel(onnxPath, 'cpu');
  return checkBatching(new Uint8Array(readFileSync(ortPath)), {
    signature,
    batchSizes,
    device: CPU,
    precision,
  });
}

describe('rows that do not depend on each other', () => {
  it.each<[string, Uint8Array]>([
    ['truth values', identityModel(ELEMENT_TYPES.BOOL, ['n', 2])],
    ['halves', identityModel(ELEMENT_TYPES.FP16, ['n', 2])],
    ['one truth value a row', identityModel(ELEMENT_TYPES.BOOL, ['n'])],
    [
      'sorting within a row',
      oneToOne(
        ROWS,
        ['n', 2],
        [{ op: 'TopK', inputs: ['x', 'k'], outputs: ['y', 'i'], attributes: { axis: 1 } }],
        { k: longs(2) },
      ),
    ],
    [
      'indexes of a small table',
      encodeGraph({
        inputs: [{ name: 'x', dims: ['n'], type: 'INT64' }],
        outputs: [{ name: 'y', dims: ['n', 2] }],
        nodes: [node('Gather', ['table', 'x'], 'y')],
        weights: { table: { dims: [3, 2], floats: [1, 2, 3, 4, 5, 6] } },
      }),
    ],
    [
      'NaN everywhere',
      oneToOne(ROWS, ROWS, [node('Neg', ['x'], 'a'), node('Log', ['a'], 'b'), node('Sub', ['b', 'b'], 'y')]),
    ],
  ])('%s', async (_, onnx) => {
    const { independent, batchSizes, what } = await check(onnx);
    expect([independent, what]).toEqual([
      true,
      expect.stringContaining('rows of a batch give the same answers as alone'),
    ]);
    expect(batchSizes).toEqual([2, 4, 8]);
  });

  it('may differ by a little where floats are added up', async () => {
    expect(toleranceOf('FP32', 'fp32', CPU)).toBe(1e-4);
    expect(toleranceOf('FP32', 'fp16', CPU)).toBe(1e-2);
    expect(toleranceOf('INT32', 'fp16', CPU)).toBe(0);
  });
});

// Graphs of many more operators are drawn at random in test/serve/batching.
describe('rows that do', () => {
  it.each<[string, Uint8Array, string]>([
    [
      'a cumulative sum',
      oneToOne(ROWS, ROWS, [node('CumSum', ['x', 'axis'], 'y')], { axis: scalar(0) }),
      'output y differs by',
    ],
    [
      'sorting the rows',
      oneToOne(
        ['n', 3],
        ['n', 3],
        [
          node('Shape', ['x'], 's'),
          node('Slice', ['s', 'zero', 'one'], 'k'),
          { op: 'TopK', inputs: ['x', 'k'], outputs: ['y', 'i'], attributes: { axis: 0 } },
        ],
        { zero: longs(0), one: longs(1) },
      ),
      'output y',
    ],
    [
      'a place in the batch',
      oneToOne(
        ROWS,
        ROWS,
        [
          node('ReduceSum', ['x', 'one'], 'r', { keepdims: 1 }),
          node('Sub', ['r', 'r'], 'zeros'),
          node('Exp', ['zeros'], 'ones'),
          node('CumSum', ['ones', 'axis'], 'place'),
          node('Add', ['x', 'place'], 'y'),
        ],
        { one: longs(1), axis: scalar(0) },
      ),
      'output y',
    ],
    [
      'twice as many rows',
      oneToOne(ROWS, ['m', 3], [node('Concat', ['x', 'x'], 'y', { axis: 0 })]),
      'output y is [2,3] for one row, not [1,3]',
    ],
    [
      'noise',
      oneToOne(ROWS, ROWS, [node('RandomUniformLike', ['x'], 'noise'), node('Add', ['x', 'noise'], 'y')]),
      'the same row again',
    ],
    [
      'batches of two rows',
      oneToOne(['n', 1], ['n', 1], [node('Gemm', ['x', 'one', 'two'], 'y')], {
        one: { dims: [1, 1], floats: [1] },
        two: { dims: [2, 1], floats: [1, 2] },
      }),
      'it does not accept a single row: the model cannot compute these inputs: ',
    ],
  ])('%s', async (_, onnx, what) => {
    const result = await check(onnx);
    expect([result.independent, result.what]).toEqual([false, expect.stringContaining(what)]);
  });

  it('are noticed in one output of several, and where nothing is batched but requests are split', async () => {
    const onnx = encodeGraph({
      inputs: [
        { name: 'a', dims: ['n', 2] },
        { name: 'b', dims: ['n', 2] },
      ],
      outputs: [
        { name: 'fine', dims: ['n', 2] },
        { name: 'mixed', dims: ['n', 2] },
      ],
      nodes: [node('Add', ['a', 'b'], 'fine'), node('CumSum', ['b', 'axis'], 'mixed')],
      weights: { axis: scalar(0) },
    });
    const { independent, output, difference, batchSizes } = await check(onnx, [1]);
    expect({ independent, output, batchSizes }).toEqual({
      independent: false,
      output: 'mixed',
      batchSizes: [2],
    });
    expect(difference).toBeGreaterThan(0);
  });

  it('are noticed where padding alone changes them', async () => {
    // Rows of the largest batch together are what they are alone: only fewer of them than the batch size are not.
    const mean = oneToOne(
      ['n', 1],
      ['n', 1],
      [
        node('Abs', ['x'], 'a'),
        node('ReduceMin', ['a'], 'm', { axes: [0] }),
        node('Sign', ['m'], 's'),
        node('Mul', ['x', 's'], 'y'),
      ],
    );
    const { independent, what } = await check(mean);
    expect([independent, what]).toEqual([false, expect.stringContaining('1 row in a batch of 2')]);
  });
});
