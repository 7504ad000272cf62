import { expect, test } from 'vitest';
import { toHalf } from '../../../../src/live/half.js';
import type { TensorSignature } from '../../../../src/live/model.js';
import { DifferenceCollector } from '../../../../src/live/models/measure/output-difference.js';

const LOGITS: TensorSignature = { name: 'logits', datatype: 'FP32', shape: [3], bytes: 12 };

function floats(...values: number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

test('differences are those of values, agreement that of requests', () => {
  const collector = new DifferenceCollector([LOGITS]);
  collector.add(2, [floats(1, 2, -8, 4, 5, 6)], [floats(1, 2.5, -8, 4, 6.5, 6)]);
  collector.add(1, [floats(0, 1, 0)], [floats(0, 1, 0)]);
  expect(collector.difference).toEqual({
    requests: 3,
    values: 9,
    maxAbsolute: 1.5,
    meanAbsolute: 2 / 9,
    largestOutput: 8,
    overflowed: 0,
    // The second request's largest value moved from the third place to the second.
    sameLargest: 2 / 3,
  });
});

test('values that overflow are counted, and what is infinite at FP32 is no difference', () => {
  const collector = new DifferenceCollector([LOGITS]);
  const infinity = Number.POSITIVE_INFINITY;
  collector.add(1, [floats(1, 70_000, infinity)], [floats(1.25, infinity, infinity)]);
  expect(collector.difference).toMatchObject({
    values: 3,
    overflowed: 1,
    maxAbsolute: 0.25,
    meanAbsolute: 0.25,
    largestOutput: 70_000,
  });
});

test('outputs may be of any type, and all of them have to agree', () => {
  const halves = (...values: number[]) => new Uint8Array(Uint16Array.from(values, toHalf).buffer);
  const labels = (...values: bigint[]) => new Uint8Array(BigInt64Array.from(values).buffer);
  const collector = new DifferenceCollector([
    { name: 'scores', datatype: 'FP16', shape: [2], bytes: 4 },
    { name: 'labels', datatype: 'INT64', shape: [2], bytes: 16 },
  ]);
  collector.add(1, [halves(0.5, 1), labels(3n, 1n)], [halves(0.25, 1), labels(3n, 4n)]);
  expect(collector.difference).toMatchObject({ values: 4, maxAbsolute: 3, largestOutput: 3, sameLargest: 0 });
});

test('without requests there is no difference', () => {
  expect(new DifferenceCollector([LOGITS]).difference).toMatchObject({ meanAbsolute: 0, sameLargest: 1 });
});
