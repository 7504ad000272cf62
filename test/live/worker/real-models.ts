import { join } from 'node:path';
import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { DEFAULT_SESSION, type OrtDeviceSpec } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import type { Architecture } from '../../../src/live/models/make/architectures.js';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { openSession } from '../../../src/live/ort/open-session.js';

export const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };

/** A model on disk as a worker runs it, and a session of the model as it was made to compare it with. */
export interface RealModel {
  readonly worker: WorkerModel;
  readonly direct: InferenceSession;
}

/** Writes the optimised model into `folder`. It runs in batches of 1, 2 and 4 and takes 2 pages. */
export async function realModel(
  architecture: Architecture,
  input: number,
  folder: string,
): Promise<RealModel> {
  const { onnx } = makeModel(architecture, { input, seed: 1, classes: 10 });
  const ortPath = join(folder, `${architecture}.ort`);
  const config = { save_model_format: 'ORT' };
  const direct = await openSession(onnx, CPU, { level: 'extended' });
  const saved = await openSession(onnx, CPU, { level: 'extended', savePath: ortPath, config });
  await saved.release();
  const shape = architecture === 'mlp' ? [input] : [3, input, input];
  const elements = shape.reduce((product, size) => product * size, 1);
  const signature = {
    inputs: [{ name: 'input', datatype: 'FP32', shape, bytes: 4 * elements }],
    outputs: [{ name: 'logits', datatype: 'FP32', shape: [10], bytes: 40 }],
    batched: true,
  } as const;
  const spec = {
    name: architecture,
    weightsBytes: onnx.length,
    pages: 2,
    loadNs: 10_000_000,
    batchSizes: [1, 2, 4],
    execNs: [1_000_000, 2_000_000, 4_000_000],
    inputBytes: signature.inputs[0].bytes,
    outputBytes: signature.outputs[0].bytes,
  };
  return { worker: { spec, signature, version: '1', sloNs: null, ortPath }, direct };
}

/** What onnxruntime answers if it is asked for `count` requests in a batch that is filled up with zeros. */
export async function runDirectly(
  { worker, direct }: RealModel,
  batchSize: number,
  count: number,
  input: Uint8Array,
): Promise<Uint8Array> {
  const { inputs, outputs } = worker.signature;
  const padded = new Float32Array((batchSize * inputs[0].bytes) / 4);
  new Uint8Array(padded.buffer).set(input);
  const tensor = new Tensor('float32', padded, [batchSize, ...inputs[0].shape]);
  const answer = await direct.run({ [inputs[0].name]: tensor });
  const { data } = answer[outputs[0].name];
  return new Uint8Array((data as Float32Array).slice().buffer, 0, count * outputs[0].bytes);
}
