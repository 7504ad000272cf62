import type { InferenceSession } from 'onnxruntime-node';
import { EscapementError } from '../../base/errors.js';
import {
  bytesOfShape,
  DATATYPES,
  type Datatype,
  FREE,
  type ModelSignature,
  type TensorSignature,
} from '../model.js';
import { type LengthSettings, lengthIn } from './length-dimension.js';

/** Sizes assigned by the operator to symbolic dimensions, by their names. */
export type Dimensions = Readonly<Record<string, number>>;

/** An operator's setting about a model's first dimension: it is no batch, or consists of independent rows. */
export type BatchSetting = 'none' | 'rows';

/**
 * Inputs and outputs of a model. A symbolic first dimension of every input and output may be the batch: with `batch`
 * `rows` it is, without it that has to be checked. If any other dimension has no size, neither from the model nor from
 * `dimensions`, requests choose it. `file` is the model, for messages. Throws `E_MODEL_FILE`. (onnxruntime-node has an option for the sizes, freeDimensionOverrides, and ignores it.)
 */
export function readSignature(
  session: ModelMetadata,
  file: string,
  { dimensions = {}, batch, ...settings }: SignatureSettings = {},
): ModelSignature {
  const inputs = session.inputMetadata.map((value) => readTensor(value, 'input', file, dimensions));
  const outputs = session.outputMetadata.map((value) => readTensor(value, 'output', file, dimensions));
  const tensors = [...inputs, ...outputs];
  const fixed = tensors.find(({ dims }) => typeof dims[0] !== 'string');
  if (batch === 'rows' && (fixed !== undefined || inputs.length === 0)) {
    const why =
      fixed === undefined ? 'it has no inputs' : `the first dimension of ${fixed.label} is not symbolic`;
    throw problem(`takes no batches, so "batch: rows" in its config.yaml is wrong: ${why}`, file);
  }
  const hasTexts = tensors.some(({ datatype }) => datatype === 'BYTES');
  if (batch === 'rows' && hasTexts)
    throw problem(
      'has texts, which run one request at a time, so "batch: rows" in its config.yaml is wrong',
      file,
    );
  const mayBeBatched = batch !== 'none' && !hasTexts && inputs.length > 0 && fixed === undefined;
  const length = lengthIn(inputs, outputs, { ...settings, mayBeBatched, file });
  const hasOpen = tensors.some(({ dims }) => dims.slice(1).some((size) => typeof size === 'string'));
  const batched = mayBeBatched && (length !== null || !hasOpen);
  return {
    inputs: inputs.map((tensor) => signatureOf(tensor, batched)),
    outputs: outputs.map((tensor) => signatureOf(tensor, batched)),
    batched,
    ...(length === null ? {} : { lengths: length }),
    ...(mayBeBatched && !batched ? { stackable: true } : {}),
  };
}

/** Metadata of a model from onnxruntime. */
export type ModelMetadata = Pick<InferenceSession, 'inputMetadata' | 'outputMetadata'>;

export interface SignatureSettings extends LengthSettings {
  readonly dimensions?: Dimensions;
  /** Undefined: not given. */
  readonly batch?: BatchSetting | undefined;
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
    throw problem(`${label} is of type ${value.type}; only numbers, booleans and texts can be served`, file);
  }
  const sizeOf = (size: number | string) => dimensions[size] ?? size;
  return { label, name: value.name, datatype, dims: value.shape.map(sizeOf) };
}

function signatureOf({ name, datatype, dims }: TensorMetadata, batched: boolean): TensorSignature {
  const shape = dims.slice(batched ? 1 : 0).map((size) => (typeof size === 'number' ? size : FREE));
  const smallest = shape.map((size) => (size === FREE ? 1 : size));
  return { name, datatype, shape, bytes: bytesOfShape(datatype, smallest) };
}

/** Our names by onnxruntime's types. */
const DATATYPE_OF = new Map<string, Datatype>(
  Object.entries(DATATYPES).map(([datatype, { ort }]) => [ort, datatype as Datatype]),
);

function problem(what: string, file: string): EscapementError {
  return new EscapementError('E_MODEL_FILE', what, { file });
}
