import type { InferenceSession } from 'onnxruntime-node';
import type { OrtDeviceSpec } from '../device.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';
import { openSession } from './open-session.js';

/**
 * Number of a model's batch sizes, smallest first, that a LOAD has to run so that the first INFER takes no longer than
 * later ones. Measured without any warm-up:
 *
 * - cpu: the first INFER of a ResNet took 2 to 5 % longer than later ones at every batch size, of MobileNetV2 at 64 ×
 *   64 0.6 ms longer; one run would make the LOAD of a ResNet-50 at 224 × 224 13 times as long. So none.
 * - webgpu: the first INFER at a batch size compiles kernels, 2 to 60 times as long as a later one. They stay compiled
 *   as long as any session of the process lives, and then only the first of all runs took longer (1.5 to 4 times). So
 *   every size at the first LOAD of a model, one size at later ones.
 * - others choose their kernels again in every session, for each shape. So every size.
 */
export function warmUpSizes(modelBytes: Uint8Array, batchSizes: number, { kind }: OrtDeviceSpec): number {
  if (kind === 'cpu') return 0;
  if (kind !== 'webgpu') return batchSizes;
  if (compiled.has(modelBytes)) return 1;
  compiled.add(modelBytes);
  return batchSizes;
}

/**
 * Keeps a device and its compiled kernels for the life of this thread, whatever is loaded and unloaded. Only webgpu
 * drops them with the last session.
 */
export async function keepDevice(device: OrtDeviceSpec): Promise<void> {
  if (device.kind !== 'webgpu' || keeper !== null) return;
  keeper = await openSession(smallestModel(), device, { level: 'disabled' });
}

/** Models whose kernels webgpu has compiled in this thread. */
const compiled = new WeakSet<Uint8Array>();

let keeper: InferenceSession | null = null;

/** One operator on one number. */
export function smallestModel(): Uint8Array {
  const graph = new OnnxGraph('keeper');
  graph.node('Relu', [graph.input('input', [1])], {}, 'output');
  graph.output('output', [1]);
  return graph.encode();
}
