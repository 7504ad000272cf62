import type { InferenceSession } from 'onnxruntime-node';
import { EscapementError } from '../../base/errors.js';
import {
  bytesOfShape,
  DATATYPES,
  type Datatype,
  FREE,
  type InputLengths,
  type ModelSignature,
  type TensorSignature,
} from '../model.js';

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
  /** Including the batch; a variable size has a name. */
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

/** By input: value that shorter ones are padded with. */
type LengthFill = Readonly<Record<string, number | boolean>>;

/** An operator's settings about the lengths of a model's inputs. */
export interface LengthSettings {
  readonly buckets?: readonly number[];
  readonly fill?: LengthFill;
}

interface Asked extends LengthSettings {
  readonly mayBeBatched: boolean;
  /** Path of the model, for messages. */
  readonly file: string;
}

/**
 * Lengths that a model's inputs are padded to, if its settings say so: the one dimension besides the batch that has no
 * size. Null: they are not padded. Throws `E_CONFIG_VALUE`.
 */
function lengthIn(
  inputs: readonly TensorMetadata[],
  outputs: readonly TensorMetadata[],
  { buckets, fill, mayBeBatched, file }: Asked,
): InputLengths | null {
  const wrong = (key: string, what: string) =>
    new EscapementError('E_CONFIG_VALUE', `"${key}" in its config.yaml: ${what}`, { file });
  if (buckets === undefined) {
    if (fill === undefined) return null;
    throw wrong('fill', 'gives values to pad with, so "buckets" must give lengths to pad to');
  }
  if (!mayBeBatched)
    throw wrong(
      'buckets',
      'the model takes no batches: "batch: none" says so, or it has texts, or its first dimension is not free everywhere',
    );
  const names = new Set(inputs.flatMap(openNames));
  const [name] = names;
  if (name === undefined) throw wrong('buckets', 'no dimension of the inputs is free, except the batch');
  if (names.size > 1 || name === '') {
    const which = [...names].map((each) => each || 'one without a name').join(', ');
    throw wrong(
      'buckets',
      `only one free dimension can be the length, and these are free: ${which}; give the others sizes in "dimensions"`,
    );
  }
  for (const tensor of [...inputs, ...outputs]) {
    const open = openNames(tensor);
    const other = open.find((each) => each !== name);
    if (other !== undefined)
      throw wrong(
        'buckets',
        `${tensor.label} has the free dimension ${other || 'without a name'}, which is not ${name}`,
      );
    if (open.length > 1) throw wrong('buckets', `${tensor.label} has the dimension ${name} more than once`);
  }
  return fill === undefined ? null : { buckets, fill: fillOf(inputs, fill, name, wrong) };
}

/** Names of the dimensions without a size, other than the batch. */
function openNames({ dims }: TensorMetadata): string[] {
  return dims.slice(1).filter((size) => typeof size === 'string');
}

function fillOf(
  inputs: readonly TensorMetadata[],
  fill: LengthFill,
  name: string,
  wrong: (key: string, what: string) => EscapementError,
): (number | null)[] {
  const long = inputs.filter((input) => openNames(input).length > 0);
  const unknown = Object.keys(fill).find((key) => !long.some((input) => input.name === key));
  if (unknown !== undefined) {
    const known = long.map((input) => input.name).join(', ');
    throw wrong('fill', `${unknown} is not an input with the dimension ${name}: those are ${known}`);
  }
  return inputs.map((input) => {
    if (!long.includes(input)) return null;
    const value = fill[input.name];
    if (value === undefined)
      throw wrong(
        'fill',
        `input ${input.name} has the dimension ${name} as well: give the value to pad it with`,
      );
    if (!isValue(input.datatype, value))
      throw wrong('fill', `input ${input.name} is ${input.datatype}, which cannot be ${value}`);
    return Number(value);
  });
}

function isValue(datatype: Datatype, value: number | boolean): boolean {
  if (datatype === 'BOOL' || typeof value === 'boolean')
    return datatype === 'BOOL' && typeof value === 'boolean';
  if (datatype.startsWith('FP')) return Number.isFinite(value);
  const bits = Number(datatype.replace(/\D+/, ''));
  const [least, most] = datatype.startsWith('U') ? [0, 2 ** bits] : [-(2 ** (bits - 1)), 2 ** (bits - 1)];
  return Number.isSafeInteger(value) && value >= least && value < most;
}
