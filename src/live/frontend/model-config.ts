import { FREE, type ServedModel, type TensorSignature } from '../model.js';

/**
 * A model's configuration as clients of other servers read it (model configuration extension): names, types and sizes of
 * its tensors, and whether it takes batches. `maxBatch`: the largest of one call.
 */
export function modelConfig({ spec, signature }: ServedModel, maxBatch: number) {
  const { inputs, outputs, batched } = signature;
  return {
    name: spec.name,
    platform: 'onnxruntime_onnx',
    backend: 'onnxruntime',
    max_batch_size: batched ? maxBatch : 0,
    input: inputs.map((input) => ({ ...describe(input), format: 'FORMAT_NONE' })),
    output: outputs.map(describe),
    ...(batched ? { dynamic_batching: { preferred_batch_size: [...spec.batchSizes] } } : {}),
  };
}

function describe({ name, datatype, shape }: TensorSignature) {
  const type = datatype === 'BYTES' ? 'STRING' : datatype;
  return { name, data_type: `TYPE_${type}`, dims: shape.map((size) => (size === FREE ? -1 : size)) };
}
