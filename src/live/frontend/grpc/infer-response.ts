import type { ServedModel, Shape } from '../../model.js';
import { bytesOfTexts } from '../../texts.js';
import type { Call } from '../call.js';
import { classesOf } from '../classification.js';
import type { WantedOutput } from './infer-tensors.js';

/** A ModelInferResponse, in the names of the protocol. */
export interface InferResponse {
  readonly model_name: string;
  readonly model_version: string;
  readonly id: string;
  readonly parameters: object;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: Shape }[];
  readonly raw_output_contents: readonly Uint8Array[];
}

/** The response to a call that was answered. Throws an `ApiError` for an output that has no classes. */
export function inferResponse(
  call: Call,
  model: ServedModel,
  id: string,
  wanted: readonly WantedOutput[],
): InferResponse {
  const tensors = wanted.map((output) => tensorOf(call, model, output));
  return {
    model_name: model.spec.name,
    model_version: model.version,
    id,
    parameters: { batch_size: { int64_param: call.batchSize }, slo_met: { bool_param: call.sloMet } },
    outputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_output_contents: tensors.map(({ bytes }) => bytes),
  };
}

/** Bytes of its tensors. */
export function tensorBytes({ raw_output_contents: contents }: InferResponse): number {
  return contents.reduce((sum, { length }) => sum + length, 0);
}

function tensorOf(call: Call, { signature, labels }: ServedModel, { index, classes }: WantedOutput) {
  const { name, datatype } = signature.outputs[index];
  const rows = call.answers.map(({ outputs }) => outputs[index]);
  if (classes === 0) {
    const bytes = rows.length === 1 ? rows[0] : Buffer.concat(rows);
    return { name, datatype, shape: call.shapeOf(index, signature), bytes };
  }
  const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, rows, classes);
  const each = texts.length / call.count;
  const shape = signature.batched ? [call.count, each] : [each];
  return { name, datatype: 'BYTES', shape, bytes: bytesOfTexts(texts) };
}
