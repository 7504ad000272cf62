import { Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { toHalf } from '../../../../src/live/half.js';
import { ARCHITECTURE_NAMES, type Architecture } from '../../../../src/live/models/make/architectures.js';
import { makeModel } from '../../../../src/live/models/make/make-model.js';
import { readWeights } from '../../../../src/live/models/weights.js';
import {
  FLOAT,
  FLOAT16,
  GRAPH_NODE,
  MODEL_GRAPH,
  NODE_OPERATOR,
} from '../../../../src/live/onnx/onnx-fields.js';
import { readFields } from '../../../../src/live/onnx/protobuf.js';
import { openSession } from '../../../../src/live/ort/open-session.js';
import { readSignature } from '../../../../src/live/ort/signature.js';
import { CPU } from '../fixtures.js';

const SHAPE = { input: 32, seed: 1, classes: 100 };

/** The same model at both precisions. */
function made(architecture: Architecture) {
  return {
    fp32: makeModel(architecture, SHAPE),
    fp16: makeModel(architecture, { ...SHAPE, precision: 'fp16' }),
  };
}

// The encoder takes other inputs and has tests of its own.
describe.each(ARCHITECTURE_NAMES.filter((name) => name !== 'encoder'))('%s at FP16', (architecture) => {
  const { fp32, fp16 } = made(architecture);

  it('has the weights of FP32, rounded', () => {
    expect(fp16.parameters).toBe(fp32.parameters);
    const full = [...readWeights(fp32.onnx)];
    const half = [...readWeights(fp16.onnx)];
    expect(half.map(({ name }) => name)).toEqual(full.map(({ name }) => name));
    for (const [i, { name, type, bytes }] of full.entries()) {
      expect([type, half[i].type]).toEqual([FLOAT, FLOAT16]);
      const values = new Float32Array(bytes.slice().buffer);
      const bits = new Uint16Array(half[i].bytes.slice().buffer);
      expect(bits.length).toBe(values.length);
      // Some of each tensor: there are millions.
      for (let at = 0; at < values.length; at += 1 + (values.length >> 10)) {
        if (bits[at] !== toHalf(values[at]))
          expect.unreachable(`${name}[${at}] of ${values[at]} is ${bits[at]}`);
      }
    }
  });

  it('converts only what comes in and what goes out', () => {
    const operators = operatorsOf(fp16.onnx);
    expect([operators[0], operators.at(-1)]).toEqual(['Cast', 'Cast']);
    expect(operators.slice(1, -1)).toEqual(operatorsOf(fp32.onnx));
  });

  it('takes and gives the same tensors, and answers much the same', async () => {
    const full = await answersOf(fp32.onnx);
    const half = await answersOf(fp16.onnx);
    expect(half.signature).toEqual(full.signature);
    const largest = Math.max(...full.logits.map(Math.abs));
    const apart = Math.max(...full.logits.map((value, i) => Math.abs(value - half.logits[i])));
    // Measured: 0.0004 to 0.0014. Above 0, or the weights would not be rounded.
    expect(apart / largest).toBeGreaterThan(0);
    expect(apart / largest).toBeLessThan(0.005);
  });
});

function operatorsOf(onnx: Uint8Array): string[] {
  const nested = (message: Uint8Array, wanted: number) =>
    [...readFields(message)].filter(({ field }) => field === wanted).map(({ value }) => value as Uint8Array);
  return nested(onnx, MODEL_GRAPH)
    .flatMap((graph) => nested(graph, GRAPH_NODE))
    .flatMap((node) => nested(node, NODE_OPERATOR))
    .map((name) => new TextDecoder().decode(name));
}

async function answersOf(onnx: Uint8Array) {
  const session = await openSession(onnx, CPU, { level: 'basic' });
  const signature = readSignature(session, 'model.onnx');
  const [{ shape }] = signature.inputs;
  const image = Float32Array.from({ length: 2 * shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i));
  const { logits } = await session.run({ input: new Tensor(image, [2, ...shape]) });
  await session.release();
  return { signature, logits: [...(logits.data as Float32Array)] };
}
