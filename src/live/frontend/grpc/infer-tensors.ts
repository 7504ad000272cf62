import { DATATYPES, type Datatype, type ModelSignature } from '../../model.js';
import { ApiError, shown } from '../api-error.js';
import type { InputSet } from '../inputs.js';
import { outputIndex } from '../outputs.js';
import { classCount, isHarmlessParameter, type TensorSide, unsupportedParameter } from '../parameters.js';
import { bytesOfContents } from './contents.js';
import type { InferMessage } from './infer-message.js';

/** An output that a client wants. */
export interface WantedOutput {
  readonly index: number;
  /** So many of its largest elements, by name, instead of all; 0: all. */
  readonly classes: number;
}

/** Puts the tensors of a message into `set`. Throws an `ApiError`. */
export function readInputs({ inputs, raw }: InferMessage, set: InputSet, mostTypedBytes: number): void {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new ApiError(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  for (let i = 0; i < inputs.length; i++) {
    const { name, datatype, shape, parameters, contents } = inputs[i];
    checkTensorParameters(parameters, 'input', name, 'binary_data_size');
    const index = set.claim(name, datatype, shape);
    if (raw.length === 0) {
      const count = set.bytesOf(index) / DATATYPES[datatype as Datatype].bytes;
      const tensor = { name, datatype: datatype as Datatype, count, parts: contents };
      set.put(index, bytesOfContents(tensor, mostTypedBytes));
    } else if (contents.some(({ length }) => length > 0)) {
      // MLServer's client sends an empty message next to raw contents.
      throw new ApiError('invalid', `input ${shown(name)}: has both contents and raw_input_contents`);
    } else set.put(index, raw[i]);
  }
}

/** Outputs that the client asks for. Throws an `ApiError`. */
export function wantedOutputs(
  { outputs: wanted }: InferMessage,
  signature: ModelSignature,
): readonly WantedOutput[] {
  if (wanted.length === 0) return signature.outputs.map((_, index) => ({ index, classes: 0 }));
  if (wanted.length > signature.outputs.length)
    throw new ApiError(
      'invalid',
      `outputs: the model has ${signature.outputs.length}, the request names ${wanted.length}`,
    );
  const outputs: WantedOutput[] = [];
  for (const { name, parameters } of wanted) {
    const index = outputIndex(signature, name);
    if (outputs.some((output) => output.index === index))
      throw new ApiError('invalid', `output ${shown(name)}: named twice`);
    checkTensorParameters(parameters, 'output', name, 'classification');
    outputs.push({ index, classes: classCount(parameters.get('classification'), name) });
  }
  return outputs;
}

/** Throws an `ApiError` for a parameter other than `known` that would change what a tensor means. */
function checkTensorParameters(
  parameters: ReadonlyMap<string, unknown>,
  side: TensorSide,
  tensor: string,
  known: string,
): void {
  for (const name of parameters.keys())
    if (name !== known && !isHarmlessParameter(name)) throw unsupportedParameter(side, tensor, name, known);
}
