import { beforeAll, expect, test } from 'vitest';
import { toHalf } from '../../../../src/live/half.js';
import type { TensorSignature } from '../../../../src/live/model.js';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import {
  comparePrecision,
  DifferenceCollector,
} from '../../../../src/live/models/measure/compare-precision.js';
import type { Precision } from '../../../../src/live/models/precision.js';
import { type RepositoryModel, readModelFile } from '../../../../src/live/models/repository.js';
import { CPU, failure, tempDir, writeIn } from '../fixtures.js';

type Pair = Readonly<Record<Precision, RepositoryModel>>;

/** A perceptron at both precisions; `classes` by precision. */
async function pairOf(classes: Readonly<Record<Precision, number>>): Promise<Pair> {
  const dir = tempDir();
  const read = (precision: Precision, name: string) => {
    const { onnx } = makeModel('mlp', { input: 8, seed: 1, classes: classes[precision], precision });
    return readModelFile(writeIn(dir, name, onnx));
  };
  return { fp32: await read('fp32', 'm/1/model.onnx'), fp16: await read('fp16', 'm/1/fp16/model.onnx') };
}

let pair: Pair;
beforeAll(async () => {
  pair = await pairOf({ fp32: 4, fp16: 4 });
});

test('both precisions are run with the same inputs', async () => {
  const difference = await comparePrecision(pair, CPU);
  expect([difference.requests, difference.values]).toEqual([32, 128]);
  expect(difference.maxAbsolute).toBeGreaterThan(0);
  expect(difference.maxAbsolute).toBeLessThan(0.005 * difference.largestOutput);
  expect(await comparePrecision(pair, CPU)).toEqual(difference);
});

test('a model does not differ from itself', async () => {
  const difference = await comparePrecision({ fp32: pair.fp32, fp16: pair.fp32 }, CPU);
  expect(difference).toMatchObject({ maxAbsolute: 0, sameLargest: 1 });
});

test('files of different models are refused', async () => {
  const { code, message } = await failure(comparePrecision(await pairOf({ fp32: 4, fp16: 5 }), CPU));
  expect(code).toBe('E_MODEL_FILE');
  expect(message).toMatch(/fp16\/model\.onnx: takes or gives other tensors than \S+m\/1\/model\.onnx$/);
});

const LOGITS: TensorSignature = { name: 'logits', datatype: 'FP32', shape: [3], bytes: 12 };

function floats(...values: number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

test('differences are those of values, agreement that of requests', () => {
  const collector = new DifferenceCollector([LOGITS]);
  collector.add([floats(1, 2, -8)], [floats(1, 2.5, -8)]);
  collector.add([floats(4, 5, 6)], [floats(4, 6.5, 6)]);
  collector.add([floats(0, 1, 0)], [floats(0, 1, 0)]);
  expect(collector.difference).toEqual({
    requests: 3,
    values: 9,
    maxAbsolute: 1.5,
    largestOutput: 8,
    overflowed: 0,
    // The second request's largest value moved from the third place to the second.
    sameLargest: 2 / 3,
  });
});

test('values that overflow are counted, and what is infinite at FP32 is no difference', () => {
  const collector = new DifferenceCollector([LOGITS]);
  const infinity = Number.POSITIVE_INFINITY;
  collector.add([floats(1, 70_000, infinity)], [floats(1.25, infinity, infinity)]);
  expect(collector.difference).toMatchObject({
    ...{ values: 3, overflowed: 1, maxAbsolute: 0.25, largestOutput: 70_000 },
  });
});

test('outputs may be of any type, and all of them have to agree', () => {
  const halves = (...values: number[]) => new Uint8Array(Uint16Array.from(values, toHalf).buffer);
  const labels = (...values: bigint[]) => new Uint8Array(BigInt64Array.from(values).buffer);
  const collector = new DifferenceCollector([
    { name: 'scores', datatype: 'FP16', shape: [2], bytes: 4 },
    { name: 'labels', datatype: 'INT64', shape: [2], bytes: 16 },
  ]);
  collector.add([halves(0.5, 1), labels(3n, 1n)], [halves(0.25, 1), labels(3n, 4n)]);
  expect(collector.difference).toMatchObject({ values: 4, maxAbsolute: 3, largestOutput: 3, sameLargest: 0 });
});
