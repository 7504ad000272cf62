import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import { DATATYPES, type Datatype } from '../../../src/live/model.js';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { OnnxGraph } from '../../../src/live/onnx/onnx-graph.js';
import { InputError } from '../../../src/live/ort/runtime-problem.js';
import { ModelSession } from '../../../src/live/ort/session.js';
import { bytesOfTexts, textsOf } from '../../../src/live/texts.js';
import { CPU, ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from '../models/fixtures.js';

const SIZES = [1, 2, 4];
const FEATURES = 6;

describe('a session on the CPU', () => {
  let direct: InferenceSession;
  let session: ModelSession;

  beforeAll(async () => {
    const { onnx } = makeModel('mlp', { input: FEATURES, seed: 1, classes: 5 });
    direct = await InferenceSession.create(onnx, { intraOpNumThreads: 1 });
    session = await open(onnx);
  });

  afterAll(async () => {
    await session.release();
    await direct.release();
  });

  it('gives what onnxruntime gives, bit for bit, at every batch size and with padding', async () => {
    for (const [batchIndex, batchSize] of SIZES.entries()) {
      for (let count = 1; count <= batchSize; count++) {
        const requests = numbers(count * FEATURES);
        const padded = new Float32Array(batchSize * FEATURES);
        padded.set(requests);
        const { logits } = await direct.run({ input: new Tensor(padded, [batchSize, FEATURES]) });
        const { outputs } = await session.run(batchIndex, count, [bytesOf(requests)]);
        expect(floats(outputs[0])).toEqual((logits.data as Float32Array).slice(0, count * 5));
      }
    }
  });

  it('tells how long tensors were copied, which is a part of the run', async () => {
    const beginNs = monotonicNs();
    const { copyInNs, copyOutNs } = await session.run(2, 4, [bytesOf(numbers(4 * FEATURES))]);
    const tookNs = monotonicNs() - beginNs;
    expect(Math.min(copyInNs, copyOutNs)).toBeGreaterThan(0);
    expect(copyInNs + copyOutNs).toBeLessThan(tookNs);
  });
});

test('padding is zeros, whatever ran before', async () => {
  // Each output depends on the whole batch.
  const graph = new OnnxGraph('softmax over the batch');
  graph.node('Softmax', [graph.input('x', [1])], { axis: 0 }, 'y');
  graph.output('y', [1]);
  const session = await open(graph.encode());
  await session.run(2, 4, [bytesOf(new Float32Array([5, 5, 5, 5]))]);
  const { outputs } = await session.run(2, 1, [bytesOf(new Float32Array([0]))]);
  expect([...floats(outputs[0])]).toEqual([0.25]);
  await session.release();
});

test('every datatype goes through unchanged', async () => {
  for (const datatype of Object.keys(DATATYPES) as Datatype[]) {
    if (datatype === 'BYTES') continue;
    const session = await open(identityModel(ELEMENT_TYPES[datatype], ['batch', 3]));
    const bytes = Uint8Array.from({ length: 2 * 3 * DATATYPES[datatype].bytes }, (_, i) =>
      datatype === 'BOOL' ? i % 2 : i,
    );
    const { outputs } = await session.run(1, 2, [bytes]);
    expect([datatype, ...outputs[0]]).toEqual([datatype, ...bytes]);
    await session.release();
  }
});

test('texts go through unchanged, one request a run', async () => {
  const session = await open(identityModel(ELEMENT_TYPES.STRING, ['batch', 'words']), [1]);
  const texts = ['', 'plain', 'häßlich 🙂', 'x'.repeat(10_000), 'a', '1'];
  const bytes = bytesOfTexts(texts);
  const { outputs, shapes } = await session.run(0, 1, [bytes], [[2, 3]]);
  expect(textsOf(outputs[0])).toEqual(texts);
  expect(Buffer.compare(outputs[0], bytes)).toBe(0);
  expect(shapes).toEqual([[2, 3]]);
  const none = await session.run(0, 1, [new Uint8Array(0)], [[0, 3]]);
  expect([none.outputs[0].length, none.shapes]).toEqual([0, [[0, 3]]]);
  await session.release();
});

describe('what goes wrong', () => {
  it('is an error that names a provider that this platform does not have', async () => {
    const kind = process.platform === 'win32' ? 'coreml' : 'dml';
    const { code, message } = await failure(
      ModelSession.create(new Uint8Array(8), NOTHING, [1], { ...CPU, kind }),
    );
    expect(code).toBe('E_DEVICE');
    expect(message).toContain(`no provider ${kind}`);
  });

  it('is an error that names a provider whose libraries are not installed, with the command that brings them', async ({
    skip,
  }) => {
    skip(process.platform !== 'linux' || process.arch !== 'x64', 'only Linux x64 has a cuda provider');
    const { code, message } = await failure(
      ModelSession.create(new Uint8Array(8), NOTHING, [1], { ...CPU, kind: 'cuda' }),
    );
    skip(code === 'E_MODEL_FILE', 'the cuda provider is installed here');
    expect(code).toBe('E_DEVICE');
    expect(message).toContain('escapement doctor --device cuda prints the command that does');
  });

  it('is an error that names a model that is none', async () => {
    const { code, message } = await failure(ModelSession.create(new Uint8Array(64), NOTHING, [1], CPU));
    expect(code).toBe('E_MODEL_FILE');
    expect(message).not.toContain('\n');
  });

  it('is an error of the inputs where the model is well but cannot compute them', async () => {
    const graph = new OnnxGraph('batches of two only');
    const one = graph.weights('one', [1, 1], new Float32Array([1]));
    const two = graph.weights('two', [2, 1], new Float32Array([1, 2]));
    graph.node('Gemm', [graph.input('x', [1]), one, two], {}, 'y');
    graph.output('y', [1]);
    const session = await open(graph.encode(), [1, 2, 3]);
    expect(floats((await session.run(1, 2, [bytesOf(new Float32Array([1, 1]))])).outputs[0])).toEqual(
      new Float32Array([2, 3]),
    );
    const failed = session.run(2, 3, [bytesOf(numbers(3))]);
    await expect(failed).rejects.toThrow(InputError);
    await expect(failed).rejects.toThrow(/^the model cannot compute these inputs: [^\n]+$/);
    await session.release();
  });
});

const NOTHING = { inputs: [], outputs: [], batched: false };

/** Opens a model as live mode does: from the repository's optimised file. */
async function open(onnx: Uint8Array, batchSizes: readonly number[] = SIZES): Promise<ModelSession> {
  const onnxPath = writeIn(tempDir(), join('1', 'm.onnx'), onnx);
  const { signature } = await readModelFile(onnxPath);
  const { ortPath } = await optimizeModel(onnxPath, 'cpu');
  return ModelSession.create(
    new Uint8Array(readFileSync(ortPath)),
    signature,
    signature.batched ? batchSizes : [1],
    CPU,
  );
}

function numbers(count: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, (_, i) => Math.sin(i + 1));
}

function bytesOf(values: Float32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(values.buffer);
}

function floats(bytes: Uint8Array<ArrayBuffer>): Float32Array {
  return new Float32Array(bytes.buffer);
}
