import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { summarize } from '../../../../src/live/models/measure/durations.js';
import { measureModel } from '../../../../src/live/models/measure/measure.js';
import { timeSession } from '../../../../src/live/models/measure/session-timing.js';
import { optimizeModel } from '../../../../src/live/models/optimize.js';
import { readModelFile } from '../../../../src/live/models/repository.js';
import { CPU, failure, tempDir, writeIn } from '../fixtures.js';

describe('measuring a model', () => {
  it('gives a figure for the LOAD and for every batch size, and says how far it is', async () => {
    const onnxPath = writeIn(tempDir(), join('1', 'm.onnx'), makeModel('mlp', SHAPE).onnx);
    const { signature } = await readModelFile(onnxPath);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    const progress: [number, string][] = [];
    const spec = { ortPath, signature, batchSizes: [1, 3], device: CPU, runs: 5 };
    const measured = await measureModel(spec, (...step) => progress.push(step));
    expect(measured.batches.map(({ runs }) => runs)).toEqual([5, 5]);
    for (const { minMs, medianMs, p90Ms, p99Ms, maxMs } of [measured.load, ...measured.batches]) {
      expect(minMs).toBeGreaterThan(0);
      expect([minMs, medianMs, p90Ms, p99Ms, maxMs]).toEqual(
        [minMs, medianMs, p90Ms, p99Ms, maxMs].sort((a, b) => a - b),
      );
    }
    expect(measured.weightsBytes).toBeGreaterThan(4 * 512 * 512);
    expect([measured.inputBytes, measured.outputBytes]).toEqual([4 * SHAPE.input, 4 * SHAPE.classes]);
    expect(progress).toEqual([
      [0, 'LOAD'],
      [1 / 3, 'INFER at batch size 1'],
      [2 / 3, 'INFER at batch size 3'],
    ]);
  });

  it('also says what the model takes on its device beyond what there was, where that is known', async () => {
    const onnxPath = writeIn(tempDir(), join('1', 'm.onnx'), makeModel('mlp', SHAPE).onnx);
    const { signature } = await readModelFile(onnxPath);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    const spec = { ortPath, signature, batchSizes: [1], device: CPU, runs: 1 };
    const loadedBytes = async (...usedBytes: number[]) => {
      const bytes = new Uint8Array(readFileSync(ortPath));
      const memory = async () => ({ usedBytes: usedBytes.shift() ?? Number.NaN, totalBytes: 1000 });
      return (await timeSession(bytes, spec, 0, () => {}, memory)).loadedBytes;
    };
    expect(await loadedBytes(300, 420)).toBe(120);
    expect(await loadedBytes(420, 300)).toBe(0);
    expect(await measureModel(spec)).not.toHaveProperty('loadedBytes');
  });

  it('fails with the reason, not with a thread', async () => {
    const ortPath = writeIn(tempDir(), 'm.ort', 'nonsense');
    const signature = { inputs: [], outputs: [], batched: false };
    const { code } = await failure(
      measureModel({ ortPath, signature, batchSizes: [1], device: CPU, runs: 1 }),
    );
    expect(code).toBe('E_MODEL_FILE');
  });
});

test('quantiles are measured durations', () => {
  const ms = 1_000_000;
  const hundred = Array.from({ length: 100 }, (_, i) => (100 - i) * ms);
  expect(summarize(hundred)).toEqual({ runs: 100, minMs: 1, medianMs: 50, p90Ms: 90, p99Ms: 99, maxMs: 100 });
  expect(summarize([2 * ms])).toEqual({ runs: 1, minMs: 2, medianMs: 2, p90Ms: 2, p99Ms: 2, maxMs: 2 });
});

const SHAPE = { input: 8, seed: 1, classes: 4 };
