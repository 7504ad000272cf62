/** The model cannot compute these inputs, but is fine: their sizes do not match, or an index is out of range. */
export class InputError extends Error {}

/** Names are chosen by the model's author. */
const NODE_NAME = /Name:'[^']*'/g;
/** Errors of operators about their inputs. */
const OPERATOR =
  /Non-zero status code returned while running|INVALID_ARGUMENT|Invalid (?:input|argument|rank)/i;
/** Errors of the device or its memory, although reported by an operator. */
const DEVICE = /alloc|memory|CUDA|cuDNN|cuBLAS|WebGPU|Dawn|DirectML|CoreML|device|driver/i;

/** True if a run failed because of its inputs, judging by onnxruntime's message. In doubt it is the device. */
export function isOfInputs(reason: string): boolean {
  const said = reason.replaceAll(NODE_NAME, '');
  return OPERATOR.test(said) && !DEVICE.test(said);
}
