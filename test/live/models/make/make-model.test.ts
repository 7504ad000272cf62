import { Tensor } from 'onnxruntime-node';
import { describe, expect, it, test } from 'vitest';
import { ARCHITECTURE_NAMES } from '../../../../src/live/models/make/architectures.js';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { ProtobufMessage, readFields } from '../../../../src/live/onnx/protobuf.js';
import { openSession } from '../../../../src/live/ort/open-session.js';
import { readSignature } from '../../../../src/live/ort/signature.js';
import { CPU } from '../fixtures.js';

const SMALL = { input: 32, seed: 1, classes: 1000 };

describe('made models', () => {
  // As the papers and torchvision count them.
  it.each([
    ['resnet18', 11_689_512],
    ['resnet50', 25_557_032],
    ['mobilenet-v2', 3_504_872],
  ] as const)('%s is as large as the real one', (architecture, parameters) => {
    const made = makeModel(architecture, SMALL);
    expect(made.parameters).toBe(parameters);
    expect(made.onnx.length).toBeGreaterThan(4 * parameters);
    expect(made.onnx.length).toBeLessThan(4.1 * parameters);
  });

  // The encoder takes other inputs and has tests of its own.
  it.each(ARCHITECTURE_NAMES.filter((name) => name !== 'encoder'))(
    '%s runs at any batch size, and neither grows nor fades',
    async (architecture) => {
      const session = await openSession(makeModel(architecture, SMALL).onnx, CPU, { level: 'basic' });
      const { inputs, outputs, batched } = readSignature(session, architecture);
      expect([batched, inputs[0].name, outputs[0].name, outputs[0].shape]).toEqual([
        true,
        'input',
        'logits',
        [1000],
      ]);
      expect(inputs[0].shape).toEqual(architecture === 'mlp' ? [32] : [3, 32, 32]);
      const { shape } = inputs[0];
      const size = shape.reduce((product, dim) => product * dim, 1);
      const image = Float32Array.from({ length: 3 * size }, (_, i) => Math.sin(i));
      const { logits } = await session.run({ input: new Tensor(image, [3, ...shape]) });
      const values = logits.data as Float32Array;
      expect(values.length).toBe(3000);
      const deviation = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
      expect(deviation).toBeGreaterThan(0.05);
      expect(deviation).toBeLessThan(20);
      await session.release();
    },
  );

  it('follow from their seed', () => {
    const bytes = (seed: number) => Buffer.from(makeModel('mlp', { ...SMALL, seed }).onnx);
    expect(bytes(1).equals(bytes(1))).toBe(true);
    expect(bytes(1).equals(bytes(2))).toBe(false);
  });
});

// The examples of https://protobuf.dev/programming-guides/encoding.
test('protobuf is encoded as its documentation says', () => {
  const hex = (message: ProtobufMessage) => Buffer.from(message.encode()).toString('hex');
  expect(hex(new ProtobufMessage().integer(1, 150))).toBe('089601');
  expect(hex(new ProtobufMessage().text(2, 'testing'))).toBe('120774657374696e67');
  expect(hex(new ProtobufMessage().message(3, new ProtobufMessage().integer(1, 150)))).toBe('1a03089601');
  expect(hex(new ProtobufMessage().float(4, 1))).toBe('250000803f');
  expect(hex(new ProtobufMessage().integer(1, 2 ** 40))).toBe('08808080808020');
});

test('protobuf is read as it was written, as far as it makes sense', () => {
  const bytes = new ProtobufMessage()
    .integer(1, 2 ** 40)
    .text(200, 'hi')
    .float(3, 1)
    .message(4, new ProtobufMessage().integer(1, 150))
    .encode();
  const read = (encoded: Uint8Array) =>
    [...readFields(encoded)].map(({ field, value }) => [
      field,
      typeof value === 'number' ? value : [...value],
    ]);
  const fields = [
    [1, 2 ** 40],
    [200, [104, 105]],
    [3, [0, 0, 128, 63]],
    [4, [8, 150, 1]],
  ];
  expect(read(bytes)).toEqual(fields);
  expect(read(bytes.subarray(0, bytes.length - 1))).toEqual(fields.slice(0, 3));
  expect(read(Buffer.from('nonsense'))).toEqual([]);
});
