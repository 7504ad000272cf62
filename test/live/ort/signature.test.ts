import { describe, expect, it } from 'vitest';
import { FREE } from '../../../src/live/model.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from '../models/fixtures.js';

const { FP32, INT64, STRING } = ELEMENT_TYPES;

describe('the signature of a model', () => {
  it('leaves the batch out of the shapes when the first dimension is symbolic', async () => {
    const { signature, batchSizes } = await read(INT64, ['batch', 3, 4]);
    expect(signature.batched).toBe(true);
    expect(signature.inputs).toEqual([{ name: 'x', datatype: 'INT64', shape: [3, 4], bytes: 96 }]);
    expect(signature.outputs).toEqual([{ name: 'y', datatype: 'INT64', shape: [3, 4], bytes: 96 }]);
    expect(batchSizes).toEqual([1, 2, 4, 8]);
  });

  it('is the whole shape when all dimensions have sizes: the model takes one request a run', async () => {
    const { signature, batchSizes } = await read(FP32, [1, 3]);
    expect(signature.batched).toBe(false);
    expect(signature.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [1, 3], bytes: 12 }]);
    expect(batchSizes).toEqual([1]);
  });

  it('leaves every size to requests where another dimension has none', async () => {
    const onnx = identityModel(FP32, ['batch', 'length']);
    const { signature, batchSizes } = await readModelFile(inRepository(onnx, ''));
    expect(signature.batched).toBe(false);
    expect(signature.inputs[0].shape).toEqual([FREE, FREE]);
    expect(signature.outputs[0].shape).toEqual([FREE, FREE]);
    expect(batchSizes).toEqual([1]);
    const { code, message } = await failure(readModelFile(inRepository(onnx, 'batchSizes: [1, 2]')));
    expect([code, message]).toEqual([
      'E_CONFIG_VALUE',
      expect.stringContaining('unless "dimensions" gives them'),
    ]);
  });

  it('has batches where the settings give the other dimensions a size', async () => {
    const onnx = identityModel(FP32, ['batch', 'length']);
    const { signature } = await readModelFile(inRepository(onnx, 'dimensions: { length: 7 }'));
    expect(signature.batched).toBe(true);
    expect(signature.inputs[0].shape).toEqual([7]);
    expect(signature.outputs[0].shape).toEqual([7]);
  });

  it('needs a size for every other dimension of rows', async () => {
    const onnx = identityModel(FP32, ['batch', 'length']);
    const { code, message } = await failure(readModelFile(inRepository(onnx, 'batch: rows')));
    expect(code).toBe('E_MODEL_FILE');
    expect(message).toMatch(
      /model\.onnx: input x: dimension 1 has no size: .*dimensions: \{ length: SIZE \}/,
    );
  });

  it('takes texts one request at a time', async () => {
    const { signature } = await read(STRING, ['batch', 1]);
    expect(signature.batched).toBe(false);
    expect(signature.inputs).toEqual([{ name: 'x', datatype: 'BYTES', shape: [-1, 1], bytes: 4 }]);
  });

  it('refuses bfloat16, and says why', async () => {
    const { code, message } = await failure(read(16, ['batch', 1]));
    expect(code).toBe('E_MODEL_FILE');
    expect(message).toContain('bfloat16, which onnxruntime-node cannot pass');
  });
});

function read(elementType: number, dims: readonly (number | string)[]) {
  return readModelFile(inRepository(identityModel(elementType, dims), ''));
}

function inRepository(onnx: Uint8Array, settings: string): string {
  const dir = tempDir();
  writeIn(dir, 'm/config.yaml', settings);
  return writeIn(dir, 'm/1/model.onnx', onnx);
}
