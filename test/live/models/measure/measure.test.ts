import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { measureModel } from '../../../../src/live/models/measure/measure.js';
import { usualInputs } from '../../../../src/live/models/measure/sample-inputs.js';
import { timeSession } from '../../../../src/live/models/measure/session-timing.js';
import { summarize } from '../../../../src/live/models/measure/until-stable.js';
import { optimizeModel } from '../../../../src/live/models/optimize.js';
import { readModelFile } from '../../../../src/live/models/repository.js';
import { CPU, tempDir, writeIn } from '../fixtures.js';
import { encodeGraph } from '../small-graph.js';

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
    const timed = { ...spec, inputs: [{ length: 0, signature, draw: usualInputs() }] };
    const loadedBytes = async (...usedBytes: number[]) => {
      const bytes = new Uint8Array(readFileSync(ortPath));
      const memory = async () => ({ usedBytes: usedBytes.shift() ?? Number.NaN, totalBytes: 1000 });
      return (await timeSession(bytes, timed, 0, () => {}, memory)).loadedBytes;
    };
    expect(await loadedBytes(300, 420)).toBe(120);
    expect(await loadedBytes(420, 300)).toBe(0);
    expect(await measureModel(spec)).not.toHaveProperty('loadedBytes');
  });

  it.each([
    ['Slice', [['x', 'FP32', [9, 9]], ...lists('starts', 'ends', 'axes', 'steps')], [9, 9], true],
    [
      'Expand',
      [
        ['x', 'FP32', [3, 1]],
        ['shape', 'INT64', [3]],
      ],
      [2, 3, 6],
      true,
    ],
    [
      'Mod',
      [
        ['x', 'INT64', [9]],
        ['by', 'INT64', [9]],
      ],
      [9],
      false,
    ],
  ] as [string, [string, 'FP32' | 'INT64' | 'BOOL', number[]][], number[], boolean][])(
    'tries small numbers until %s computes them, and sees outputs whose sizes follow from values',
    async (op, tensors, dims, freeOutputs) => {
      const type = tensors[0][1];
      const inputs = tensors.map(([name, each, sizes]) => ({ name, type: each, dims: sizes }));
      const nodes = [{ op, inputs: inputs.map(({ name }) => name), outputs: ['y'] }];
      const graph = encodeGraph({ inputs, outputs: [{ name: 'y', dims, type }], nodes });
      const onnxPath = writeIn(tempDir(), join('1', 'm.onnx'), graph);
      const { signature } = await readModelFile(onnxPath);
      const { ortPath } = await optimizeModel(onnxPath, 'cpu');
      const measured = await measureModel({ ortPath, signature, batchSizes: [1], device: CPU, runs: 4 });
      expect(measured.batches).toHaveLength(1);
      expect(measured.freeOutputs).toBe(freeOutputs);
    },
  );
});

test('quantiles are measured durations', () => {
  const ms = 1_000_000;
  const hundred = Array.from({ length: 100 }, (_, i) => (100 - i) * ms);
  expect(summarize(hundred)).toEqual({ runs: 100, minMs: 1, medianMs: 50, p90Ms: 90, p99Ms: 99, maxMs: 100 });
  expect(summarize([2 * ms])).toEqual({ runs: 1, minMs: 2, medianMs: 2, p90Ms: 2, p99Ms: 2, maxMs: 2 });
});

const SHAPE = { input: 8, seed: 1, classes: 4 };

function lists(...names: string[]): [string, 'INT64', number[]][] {
  return names.map((name) => [name, 'INT64', [2]]);
}
