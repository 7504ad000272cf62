import { beforeAll, expect, test } from 'vitest';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import {
  comparePrecision,
  type PrecisionPair,
} from '../../../../src/live/models/measure/compare-precision.js';
import { PRECISIONS, type Precision } from '../../../../src/live/models/precision.js';
import { readModelFile } from '../../../../src/live/models/repository.js';
import { CPU, failure, tempDir, writeIn } from '../fixtures.js';

const OPTIONS = { batchSizes: [1, 3], requests: 5, runs: 7 };

/** A perceptron at both precisions; `classes` by precision. */
async function pairOf(classes: Readonly<Record<Precision, number>>): Promise<PrecisionPair> {
  const dir = tempDir();
  const read = (precision: Precision, name: string) => {
    const { onnx } = makeModel('mlp', { input: 8, seed: 1, classes: classes[precision], precision });
    return readModelFile(writeIn(dir, name, onnx));
  };
  return { fp32: await read('fp32', 'm/1/model.onnx'), fp16: await read('fp16', 'm/1/fp16/model.onnx') };
}

let pair: PrecisionPair;
beforeAll(async () => {
  pair = await pairOf({ fp32: 4, fp16: 4 });
});

test('both precisions are run with the same inputs, and timed at each batch size', async () => {
  const progress: [number, string][] = [];
  const onProgress = (...step: [number, string]) => progress.push(step);
  const { name, weightsBytes, difference, batches } = await comparePrecision(pair, CPU, {
    ...OPTIONS,
    onProgress,
  });
  expect(name).toBe('m');
  for (const precision of PRECISIONS) expect(weightsBytes[precision]).toBeGreaterThan(2 * 512 * 512);
  // Whole batches: 5 and 6 requests.
  expect([difference.requests, difference.values]).toEqual([11, 44]);
  expect(difference.maxAbsolute).toBeGreaterThan(0);
  expect(difference.maxAbsolute).toBeLessThan(0.005 * difference.largestOutput);
  expect(difference.meanAbsolute).toBeLessThanOrEqual(difference.maxAbsolute);
  expect(batches.map(({ batch, fp32, fp16 }) => [batch, fp32.runs, fp16.runs])).toEqual([
    [1, 7, 7],
    [3, 7, 7],
  ]);
  for (const { speedUp, fp32, fp16 } of batches) expect(speedUp).toBe(fp32.medianMs / fp16.medianMs);
  expect(progress).toEqual([
    [0, 'LOAD'],
    [0, 'outputs'],
    [1 / 3, 'INFER at batch size 1'],
    [2 / 3, 'INFER at batch size 3'],
  ]);
});

test('the difference follows from the seed', async () => {
  const differenceOf = async (seed: number) =>
    (await comparePrecision(pair, CPU, { ...OPTIONS, runs: 1, seed })).difference;
  const first = await differenceOf(1);
  expect(await differenceOf(1)).toEqual(first);
  expect(await differenceOf(2)).not.toEqual(first);
});

test('a model does not differ from itself', async () => {
  const { difference } = await comparePrecision({ fp32: pair.fp32, fp16: pair.fp32 }, CPU, OPTIONS);
  expect(difference).toMatchObject({ maxAbsolute: 0, meanAbsolute: 0, sameLargest: 1 });
});

test('files of different models are refused', async () => {
  const { code, message } = await failure(comparePrecision(await pairOf({ fp32: 4, fp16: 5 }), CPU, OPTIONS));
  expect(code).toBe('E_MODEL_FILE');
  expect(message).toMatch(/fp16\/model\.onnx: takes or gives other tensors than \S+m\/1\/model\.onnx$/);
});
