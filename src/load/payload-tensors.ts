import { extname } from 'node:path';
import { usageError } from '../base/errors.js';
import { bytesOfJson, parseJson } from '../live/frontend/json.js';
import { DATATYPES, fitsShape } from '../live/model.js';
import type { PayloadFile } from './payloads.js';
import { type InputTensor, isDatatype, type Parameter, type TensorDescription } from './tensors.js';

/**
 * Inputs of a request from a file: the inputs of an infer request if it is `.json`, else raw little-endian elements or,
 * for BYTES, one element. Throws `E_USAGE` if they do not fit the model. `inputs`: null if the server does not describe
 * them; then only `.json` works.
 */
export function payloadTensors(
  file: PayloadFile,
  model: string,
  inputs: readonly TensorDescription[] | null,
): InputTensor[] {
  try {
    const isJson = extname(file.path).toLowerCase() === '.json';
    if (inputs === null && !isJson)
      throw new Error(
        `the server does not describe the inputs of model ${model}: use a .json file, which does`,
      );
    const described = isJson ? jsonParts(file.bytes.toString('utf8')) : null;
    if (inputs === null) return described as InputTensor[];
    const parts = described ?? [onlyInput(file, inputs)];
    return inputs.map((input) => {
      const part = parts.find(({ name }) => name === input.name);
      const expected = `${input.datatype} [${input.shape.join(',')}]`;
      if (part === undefined) throw new Error(`it has no input ${input.name} (${expected})`);
      const shape = [part.shape, [1, ...part.shape]].find((each) => fitsShape(each, input.shape));
      if (part.datatype !== input.datatype || shape === undefined)
        throw new Error(
          `input ${input.name} of model ${model} is ${expected}, but the file has ${part.datatype} [${part.shape.join(',')}]`,
        );
      return { ...part, shape };
    });
  } catch (error) {
    throw usageError(`--payload ${file.path}: ${(error as Error).message}`);
  }
}

/** The only input of a model, from a file that is not JSON. */
function onlyInput({ bytes }: PayloadFile, inputs: readonly TensorDescription[]): InputTensor {
  const [input] = inputs;
  if (input === undefined || inputs.length > 1)
    throw new Error(
      `the model has ${inputs.length} inputs (${inputs.map(({ name }) => name).join(', ')}): use a .json file`,
    );
  return rawInput(bytes, input);
}

function jsonParts(text: string): InputTensor[] {
  const { inputs } = (readJson(text) ?? {}) as { inputs?: unknown };
  if (!Array.isArray(inputs)) throw new Error('it has no list "inputs", which an infer request needs');
  return inputs.map((input: Record<string, unknown>) => {
    const { name, datatype, shape, data, parameters } = input;
    if (typeof name !== 'string' || !isDatatype(datatype) || !isShape(shape))
      throw new Error('each of its inputs needs a name, a datatype and a shape');
    const bytes = bytesOfJson(name, datatype, shape, data);
    return { name, datatype, shape, data: Buffer.from(bytes), ...parametersIn(parameters) };
  });
}

/** Parameters that both protocols can carry. */
function parametersIn(value: unknown): Pick<InputTensor, 'parameters'> {
  const entries = Object.entries(value ?? {}).filter(([, each]) =>
    ['boolean', 'number', 'string'].includes(typeof each),
  );
  return entries.length === 0 ? {} : { parameters: Object.fromEntries(entries) as Record<string, Parameter> };
}

function readJson(text: string) {
  try {
    return parseJson(text, true);
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message}`);
  }
}

/** The one size that the model leaves open follows from the number of elements. */
function rawInput(bytes: Buffer, { name, datatype, shape }: TensorDescription): InputTensor {
  if (!isDatatype(datatype)) throw new Error(`input ${name} is of the unknown type ${datatype}`);
  if (datatype === 'BYTES') return bytesInput(bytes, name, shape);
  const fixed = shape.reduce(
    (product, size) => (size < 0 ? product : product * size),
    DATATYPES[datatype].bytes,
  );
  const free = shape.filter((size) => size < 0).length;
  const size = bytes.length / fixed;
  if (free > 1)
    throw new Error(
      `input ${name} leaves ${free} sizes open ([${shape.join(',')}]): use a .json file, which has a shape`,
    );
  if (free === 0 ? size !== 1 : !Number.isInteger(size) || size < 1)
    throw new Error(
      `input ${name} is ${datatype} [${shape.join(',')}], ${free === 0 ? '' : 'a multiple of '}${fixed} bytes, but the file has ${bytes.length}`,
    );
  return { name, datatype, shape: shape.map((each) => (each < 0 ? size : each)), data: Buffer.from(bytes) };
}

/** The unchanged file, such as a text or an encoded image. */
function bytesInput(bytes: Buffer, name: string, shape: readonly number[]): InputTensor {
  if (shape.some((size) => size >= 0 && size !== 1))
    throw new Error(
      `input ${name} has several texts ([${shape.join(',')}]), and the file is one: use a .json file`,
    );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return { name, datatype: 'BYTES', shape: shape.map(() => 1), data: Buffer.concat([length, bytes]) };
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
