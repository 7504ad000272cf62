import fc from 'fast-check';
import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { openSession } from '../../../../src/live/ort/open-session.js';
import { CPU } from '../fixtures.js';

const LONGEST = 32;
const CLASSES = 10;
const WIDTH = 128;

interface Answer {
  readonly tokens: Float32Array;
  readonly logits: Float32Array;
}

describe.each(['fp32', 'fp16'] as const)('the encoder at %s', (precision) => {
  let session: InferenceSession;
  beforeAll(async () => {
    const { onnx, parameters } = makeModel('encoder', {
      input: LONGEST,
      seed: 1,
      classes: CLASSES,
      precision,
    });
    // 30,522 and 32 vectors and their norm, two layers of 198,272, and 10 classes.
    expect(parameters).toBe((30_522 + LONGEST) * WIDTH + 2 * WIDTH + 2 * 198_272 + CLASSES * (WIDTH + 1));
    session = await openSession(onnx, CPU, { level: 'all' });
  });
  afterAll(() => session.release());

  /** Each text padded to `length` with tokens of `fill`. */
  async function run(texts: readonly (readonly number[])[], length: number, fill = 0): Promise<Answer[]> {
    const ids = new BigInt64Array(texts.length * length).fill(BigInt(fill));
    const mask = new BigInt64Array(texts.length * length);
    for (const [row, text] of texts.entries()) {
      ids.set(text.map(BigInt), row * length);
      mask.fill(1n, row * length, row * length + text.length);
    }
    const dims = [texts.length, length];
    const { tokens, logits } = await session.run({
      input_ids: new Tensor('int64', ids, dims),
      attention_mask: new Tensor('int64', mask, dims),
    });
    expect(tokens.dims).toEqual([texts.length, length, WIDTH]);
    expect(logits.dims).toEqual([texts.length, CLASSES]);
    return texts.map((text, row) => ({
      tokens: (tokens.data as Float32Array).slice(row * length * WIDTH, (row * length + text.length) * WIDTH),
      logits: (logits.data as Float32Array).slice(row * CLASSES, (row + 1) * CLASSES),
    }));
  }

  const tolerance = precision === 'fp16' ? 2e-2 : 1e-5;

  it('answers the same whatever a text is padded with and batched with', async () => {
    const text = fc.array(fc.nat(30_521), { minLength: 1, maxLength: LONGEST });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 4 }),
        fc.nat(30_521),
        async (texts, fill) => {
          const longest = Math.max(...texts.map(({ length }) => length));
          for (const length of new Set([longest, LONGEST])) {
            const together = await run(texts, length, fill);
            for (const [i, own] of texts.entries()) {
              const [alone] = await run([own], own.length);
              expect(largestDifference(together[i].tokens, alone.tokens)).toBeLessThan(tolerance);
              expect(largestDifference(together[i].logits, alone.logits)).toBeLessThan(tolerance);
            }
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  it('answers each text differently, also one with its words in another order', async () => {
    const [a, b, c] = await run(
      [
        [1, 2, 3],
        [3, 2, 1],
        [1, 2, 4],
      ],
      3,
    );
    for (const other of [b, c]) expect(largestDifference(a.logits, other.logits)).toBeGreaterThan(0.05);
  });
});

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);
}
