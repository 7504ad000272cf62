import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OnnxGraph } from '../../../src/live/onnx/onnx-graph.js';
import { openSession } from '../../../src/live/ort/open-session.js';
import { ModelSession } from '../../../src/live/ort/session.js';
import type { LengthSettings } from '../../../src/live/ort/signature.js';
import { readSignature } from '../../../src/live/ort/signature.js';
import { CPU } from '../models/fixtures.js';

const BUCKETS = [2, 5, 9];
const SIZES = [1, 2, 4];
const [OUTER, INNER] = [2, 3];
const FILL = 1000;

/** `same` is `x`, whose length is neither its first nor its last dimension; `most` is the largest value of each row, with its padding. */
async function open(settings: LengthSettings) {
  const graph = new OnnxGraph('padded');
  const x = graph.input('x', [OUTER, 'length', INNER]);
  graph.node('Identity', [x], {}, 'same');
  graph.node('ReduceMax', [x], { axes: [1, 2, 3], keepdims: 0 }, 'most');
  graph.output('same', [OUTER, 'length', INNER]);
  graph.output('most', []);
  const bytes = graph.encode();
  const plain = await openSession(bytes, CPU, { level: 'basic' });
  const signature = readSignature(plain, 'padded.onnx', settings);
  await plain.release();
  return ModelSession.create(bytes, signature, SIZES, CPU);
}

const bytesOf = (values: readonly number[]) => new Uint8Array(Float32Array.from(values).buffer);
const floatsOf = (bytes: Uint8Array) => [...new Float32Array(bytes.slice().buffer)];
const rowOf = (length: number, seed: number) =>
  Array.from({ length: OUTER * length * INNER }, (_, i) => ((i * 7 + seed * 13) % 101) - 50);

it('pads each input to the bucket with its value, and cuts outputs back, wherever the length is', async () => {
  const session = await open({ buckets: BUCKETS, fill: { x: FILL } });
  const batch = fc.record({
    batchIndex: fc.nat(SIZES.length - 1),
    bucket: fc.nat(BUCKETS.length - 1),
    draws: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { minLength: 1, maxLength: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(batch, async ({ batchIndex, bucket, draws }) => {
      const rows = draws
        .slice(0, SIZES[batchIndex])
        .map(([draw, seed]) => rowOf(1 + (draw % BUCKETS[bucket]), seed));
      const { outputs } = await session.run(batchIndex, rows.length, rows.map(bytesOf), [], false, bucket);
      expect(outputs).toHaveLength(2 * rows.length);
      for (const [r, row] of rows.entries()) {
        expect(floatsOf(outputs[2 * r])).toEqual(row);
        const isPadded = row.length < OUTER * BUCKETS[bucket] * INNER;
        expect(floatsOf(outputs[2 * r + 1])).toEqual([isPadded ? FILL : Math.max(...row)]);
      }
    }),
    { numRuns: 200 },
  );
  await session.release();
});

it('stacks requests of one shape that are not padded, and takes one of any shape', async () => {
  const session = await open({});
  for (const length of [1, ...BUCKETS]) {
    const rows = [1, 2, 3].map((seed) => rowOf(length, seed));
    const shape = [1, OUTER, length, INNER];
    const { outputs, shapes } = await session.run(2, 3, rows.map(bytesOf), [shape]);
    expect(shapes).toEqual([shape, [1]]);
    for (const [r, row] of rows.entries()) {
      expect(floatsOf(outputs[2 * r])).toEqual(row);
      expect(floatsOf(outputs[2 * r + 1])).toEqual([Math.max(...row)]);
    }
  }
  const two = [2, OUTER, 5, INNER];
  const { outputs, shapes } = await session.run(0, 1, [bytesOf([...rowOf(5, 1), ...rowOf(5, 2)])], [two]);
  expect([shapes, outputs.map(({ length }) => length)]).toEqual([
    [two, [2]],
    [2 * OUTER * 5 * INNER * 4, 8],
  ]);
  await session.release();
});
