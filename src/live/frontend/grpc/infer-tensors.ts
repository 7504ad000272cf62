import { DATATYPES, type ModelSignature } from '../../model.js';
import type { InputSet } from '../inputs.js';
import { outputIndex } from '../outputs.js';
import { classCount, isHarmlessParameter, type TensorSide, unsupportedParameter } from '../parameters.js';
import { Refusal, shown } from '../refusal.js';
import type { TypedTensor } from './contents.js';
import type { InferInput, InferMessage } from './infer-message.js';

/** An output that a client wants. */
export interface WantedOutput {
  readonly index: number;
  /** So many of its largest elements, by name, instead of all; 0: all. */
  readonly classes: number;
}

/** Tensors whose contents are typed, with the inputs that they are for. */
export interface Typed {
  readonly tensors: TypedTensor[];
  readonly indices: number[];
}

/** Puts raw contents into `set`, and returns what has yet to be decoded. Throws a refusal. */
export function readInputs({ inputs, raw }: InferMessage, set: InputSet): Typed | null {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new Refusal(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  let typed: Typed | null = null;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    checkTensorParameters(input.parameters, 'input', input.name, 'binary_data_size');
    const index = set.claim(input.name, input.datatype, input.shape);
    if (raw.length > 0) {
      // MLServer's client sends an empty message next to raw contents.
      if (input.contents?.some(({ from, to }) => from < to) === true)
        throw new Refusal('invalid', `input ${shown(input.name)}: has both contents and raw_input_contents`);
      set.put(index, raw[i]);
      continue;
    }
    typed ??= { tensors: [], indices: [] };
    typed.tensors.push(typedTensor(input, set, index));
    typed.indices.push(index);
  }
  return typed;
}

function typedTensor({ contents }: InferInput, set: InputSet, index: number): TypedTensor {
  const { name, datatype } = set.signatureOf(index);
  const count = set.bytesOf(index) / DATATYPES[datatype].bytes;
  return { name, datatype, count, spans: contents ?? [] };
}

/** What the client wants of the model's outputs. Throws a refusal. */
export function wantedOutputs(
  { outputs: wanted }: InferMessage,
  signature: ModelSignature,
): readonly WantedOutput[] {
  if (wanted.length === 0) return signature.outputs.map((_, index) => ({ index, classes: 0 }));
  if (wanted.length > signature.outputs.length)
    throw new Refusal(
      'invalid',
      `outputs: the model has ${signature.outputs.length}, the request names ${wanted.length}`,
    );
  const outputs: WantedOutput[] = [];
  for (const { name, parameters } of wanted) {
    const index = outputIndex(signature, name);
    if (outputs.some((output) => output.index === index))
      throw new Refusal('invalid', `output ${shown(name)}: named twice`);
    checkTensorParameters(parameters, 'output', name, 'classification');
    outputs.push({ index, classes: classCount(parameters?.get('classification'), name) });
  }
  return outputs;
}

/** Throws a refusal for a parameter other than `known` that would change what a tensor means. */
function checkTensorParameters(
  parameters: ReadonlyMap<string, unknown> | null,
  side: TensorSide,
  tensor: string,
  known: string,
): void {
  if (parameters === null) return;
  for (const name of parameters.keys())
    if (name !== known && !isHarmlessParameter(name)) throw unsupportedParameter(side, tensor, name, known);
}
