import type { InferenceSession } from 'onnxruntime-node';
import { EscapementError } from '../../core/errors.js';
import { DATATYPES, type Datatype, type ModelSignature, type TensorSignature } from '../model.js';

/** Sizes that the operator gives to symbolic dimensions, by their names. */
export type Dimensions = Readonly<Record<string, number>>;

/**
 * What a model takes and gives. A symbolic first dimension of every input and output is the batch; any other
 * dimension must have a size, from the model or from `dimensions`. `file` is the model, for messages. Throws
 * `E_MODEL_FILE`. (onnxruntime-node knows an option for the sizes, freeDimensionOverrides, and ignores it.)
 */
export function readSignature(
  session: InferenceSession,
  file: string,
  dimensions: Dimensions = {},
): ModelSignature {
  const inputs = session.inputMetadata.map((value) => readTensor(value, 'input', file, dimensions));
  const outputs = session.outputMetadata.map((value) => readTensor(value, 'output', file, dimensions));
  const tensors = [...inputs, ...outputs];
  const batched = inputs.length > 0 && tensors.every(({ dims }) => typeof dims[0] === 'string');
  return {
    inputs: inputs.map((tensor) => signatureOf(tensor, batched, file)),
    outputs: outputs.map((tensor) => signatureOf(tensor, batched, file)),
    batched,
  };
}

interface TensorMetadata {
  /** "input" or "output" and its name, for messages. */
  readonly label: string;
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: readonly (number | string)[];
}

function readTensor(
  value: InferenceSession.ValueMetadata,
  role: string,
  file: string,
  dimensions: Dimensions,
): TensorMetadata {
  const label = `${role} ${value.name}`;
  if (!value.isTensor) throw problem(`${label} is no tensor`, file);
  const datatype = DATATYPE_OF.get(value.type);
  if (datatype === undefined) {
    throw problem(`${label} is of type ${value.type}; only numbers and truth values can be served`, file);
  }
  const sizeOf = (size: number | string) => dimensions[size] ?? size;
  return { label, name: value.name, datatype, dims: value.shape.map(sizeOf) };
}

function signatureOf(tensor: TensorMetadata, batched: boolean, file: string): TensorSignature {
  const { label, name, datatype, dims } = tensor;
  const shape = dims.slice(batched ? 1 : 0).map((size, i) => {
    if (typeof size === 'number') return size;
    const index = batched ? i + 1 : i;
    throw problem(`${label}: ${openDimension(size, index)}`, file);
  });
  const elements = shape.reduce((product, size) => product * size, 1);
  return { name, datatype, shape, bytes: elements * DATATYPES[datatype].bytes };
}

function openDimension(name: string, index: number): string {
  return name === ''
    ? `dimension ${index} has neither size nor name: export the model with a size for it`
    : `dimension ${index} has no size: write "dimensions: { ${name}: SIZE }" into the model's config.yaml`;
}

/** Our name of each type of onnxruntime. */
const DATATYPE_OF = new Map<string, Datatype>(
  Object.entries(DATATYPES).map(([datatype, { ort }]) => [ort, datatype as Datatype]),
);

function problem(what: string, file: string): EscapementError {
  return new EscapementError('E_MODEL_FILE', what, { file });
}
