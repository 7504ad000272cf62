/** The model cannot compute these inputs, and is well: their sizes do not go together, or an index is out of range. */
export class InputError extends Error {}

/** Names are up to who made the model. */
const NODE_NAME = /Name:'[^']*'/g;
/** What operators say of their inputs. */
const OPERATOR =
  /Non-zero status code returned while running|INVALID_ARGUMENT|Invalid (?:input|argument|rank)/i;
/** What is wrong with the device or its memory, although an operator says it. */
const DEVICE = /alloc|memory|CUDA|cuDNN|cuBLAS|WebGPU|Dawn|DirectML|CoreML|device|driver/i;

/** Whether a run failed because of its inputs, by what onnxruntime says. In doubt it is the device. */
export function isOfInputs(reason: string): boolean {
  const said = reason.replaceAll(NODE_NAME, '');
  return OPERATOR.test(said) && !DEVICE.test(said);
}
