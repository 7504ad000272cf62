import { describe, expect, it } from 'vitest';
import { FREE } from '../../../src/live/model.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from '../models/fixtures.js';

const { BOOL, FP32, INT64, STRING, UINT8 } = ELEMENT_TYPES;

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
    expect([signature.stackable, batchSizes]).toEqual([true, [1, 2, 4, 8]]);
    const rows = await readModelFile(inRepository(onnx, 'batch: rows\nbatchSizes: [1, 2]\nbuckets: [5]'));
    expect([rows.signature.stackable, rows.batchSizes, rows.lengths]).toEqual([true, [1, 2], [5]]);
    const none = await readModelFile(inRepository(onnx, 'batch: none'));
    expect([none.signature.stackable, none.batchSizes]).toEqual([undefined, [1]]);
  });

  it('has batches where the settings give the other dimensions a size', async () => {
    const onnx = identityModel(FP32, ['batch', 'length']);
    const { signature } = await readModelFile(inRepository(onnx, 'dimensions: { length: 7 }'));
    expect(signature.batched).toBe(true);
    expect(signature.inputs[0].shape).toEqual([7]);
    expect(signature.outputs[0].shape).toEqual([7]);
  });

  it('has batches of several lengths where the settings give buckets', async () => {
    const { signature } = await readModelFile(
      inRepository(identityModel(FP32, ['batch', 'length']), 'buckets: [8, 32]\nfill: { x: -1.5 }'),
    );
    expect(signature).toEqual({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1], bytes: 4 }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [-1], bytes: 4 }],
      batched: true,
      lengths: { buckets: [8, 32], fill: [-1.5] },
    });
  });

  it.each([
    ['buckets: [8, 8]', FP32, ['b', 'n'], /config\.yaml:1: buckets: must be 1 to 64 lengths that ascend/],
    ['buckets: []', FP32, ['b', 'n'], /config\.yaml:1: buckets: must be 1 to 64 lengths that ascend/],
    ['buckets: [0]', FP32, ['b', 'n'], /config\.yaml:1: buckets/],
    ['fill: { x: 0 }', FP32, ['b', 'n'], /"fill" .*"buckets" must give lengths to pad to/],
    ['buckets: [8]', FP32, ['b', 4], /"buckets" .*: no dimension of the inputs is free, except the batch/],
    ['buckets: [8]', FP32, [1, 'n'], /"buckets" .*: the model takes no batches/],
    ['buckets: [8]\nbatch: none', FP32, ['b', 'n'], /"buckets" .*: the model takes no batches/],
    ['buckets: [8]', STRING, ['b', 'n'], /"buckets" .*: the model takes no batches/],
    [
      'buckets: [8]',
      FP32,
      ['b', 'n', 'm'],
      /"buckets" .*these are free: n, m; give the others sizes in "dimensions"/,
    ],
    ['buckets: [8]', FP32, ['b', ''], /"buckets" .*these are free: one without a name/],
    ['buckets: [8]', FP32, ['b', 'n', 'n'], /"buckets" .*input x has the dimension n more than once/],
    [
      'buckets: [8]\nfill: { z: 0 }',
      FP32,
      ['b', 'n'],
      /"fill" .*: z is not an input with the dimension n: those are x/,
    ],
    [
      'buckets: [8]\nfill: {}',
      FP32,
      ['b', 'n'],
      /"fill" .*: input x has the dimension n as well: give the value to pad it with/,
    ],
    ['buckets: [8]\nfill: { x: 300 }', UINT8, ['b', 'n'], /"fill" .*: input x is UINT8, which cannot be 300/],
    ['buckets: [8]\nfill: { x: -1 }', UINT8, ['b', 'n'], /"fill" .*: input x is UINT8, which cannot be -1/],
    [
      'buckets: [8]\nfill: { x: 0.5 }',
      UINT8,
      ['b', 'n'],
      /"fill" .*: input x is UINT8, which cannot be 0\.5/,
    ],
    [
      'buckets: [8]\nfill: { x: true }',
      UINT8,
      ['b', 'n'],
      /"fill" .*: input x is UINT8, which cannot be true/,
    ],
    ['buckets: [8]\nfill: { x: 1 }', BOOL, ['b', 'n'], /"fill" .*: input x is BOOL, which cannot be 1/],
  ] as const)('refuses %s, of type %i and %j', async (settings, type, dims, expected) => {
    const { code, message } = await failure(readModelFile(inRepository(identityModel(type, dims), settings)));
    expect(code).toBe('E_CONFIG_VALUE');
    expect(message).toMatch(expected);
    expect(message).not.toContain('\n');
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
