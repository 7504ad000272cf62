import { KIB } from '../../base/units.js';
import { atLongest, fillByInput } from '../lengths.js';
import { FREE, type ModelSignature, type ServedModel, type TensorSignature } from '../model.js';
import { type FrontendSettings, mostAnswerBytes } from './frontend.js';

type Limits = Pick<FrontendSettings, 'maxBatch' | 'maxBodyBytes'>;

/** Bytes of a request or answer that are not the data of tensors. */
const HEADER_BYTES = 4 * KIB;

/**
 * A model's configuration as clients of other servers read it (model configuration extension): names, types and sizes of
 * its tensors, whether it takes batches, and, in their `parameters`, the lengths of its inputs as its config.yaml says them.
 */
export function modelConfig({ spec, signature }: ServedModel, limits: Limits) {
  const { inputs, outputs, batched } = signature;
  return {
    name: spec.name,
    platform: 'onnxruntime_onnx',
    backend: 'onnxruntime',
    max_batch_size: batched ? largestBatch(atLongest(signature), limits) : 0,
    input: inputs.map((input) => ({ ...describe(input), format: 'FORMAT_NONE' })),
    output: outputs.map(describe),
    ...(batched ? { dynamic_batching: { preferred_batch_size: [...spec.batchSizes] } } : {}),
    ...(signature.lengths === undefined ? {} : { parameters: lengthParameters(signature) }),
  };
}

/** The values are JSON, since parameters are texts. */
function lengthParameters(signature: ModelSignature) {
  const { buckets = [], fill = null } = signature.lengths ?? {};
  const text = (value: unknown) => ({ string_value: JSON.stringify(value) });
  return { buckets: text(buckets), ...(fill === null ? {} : { fill: text(fillByInput(signature)) }) };
}

/** Largest batch of one call: `--max-batch`, as far as its tensors fit into the largest body and answer. */
function largestBatch({ inputs, outputs }: ModelSignature, { maxBatch, maxBodyBytes }: Limits): number {
  const rowsIn = (limitBytes: number, tensors: readonly TensorSignature[]) =>
    Math.floor((limitBytes - HEADER_BYTES) / tensors.reduce((sum, { bytes }) => sum + bytes, 0));
  const fitting = Math.min(rowsIn(maxBodyBytes, inputs), rowsIn(mostAnswerBytes({ maxBodyBytes }), outputs));
  return Math.max(1, Math.min(maxBatch, fitting));
}

function describe({ name, datatype, shape }: TensorSignature) {
  const type = datatype === 'BYTES' ? 'STRING' : datatype;
  return { name, data_type: `TYPE_${type}`, dims: shape.map((size) => (size === FREE ? -1 : size)) };
}
