import { extname } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { bytesOfJson } from '../live/frontend/json-data.js';
import { parseJson } from '../live/frontend/json-parse.js';
import { Refusal } from '../live/frontend/refusal.js';
import { DATATYPES, type Datatype, fitsShape } from '../live/model.js';
import { parseNpy } from './npy.js';
import type { PayloadFile } from './payloads.js';
import type { InputTensor, TensorDescription } from './tensors.js';

/** One tensor of a file. `name`: null where the file tells none. */
type Part = Omit<InputTensor, 'name'> & { readonly name: string | null };

/**
 * The inputs of a request from a file: `.json` is an infer request as the protocol has it, of which the inputs are
 * taken, `.npy` a NumPy array, anything else bare little-endian elements. Throws `E_USAGE` where they are not what the
 * model takes.
 */
export function payloadTensors(
  file: PayloadFile,
  model: string,
  inputs: readonly TensorDescription[],
): InputTensor[] {
  const wrong = (what: string) => new EscapementError('E_USAGE', `--payload ${file.path}: ${what}`);
  try {
    const parts = partsOf(file, inputs);
    return inputs.map((input) => {
      const part = parts.find(({ name }) => name === input.name || name === null);
      const expected = `${input.datatype} [${input.shape.join(',')}]`;
      if (part === undefined) throw new Error(`it has no input ${input.name} (${expected})`);
      const shape = [part.shape, [1, ...part.shape]].find((each) => fitsShape(each, input.shape));
      if (part.datatype !== input.datatype || shape === undefined)
        throw new Error(
          `input ${input.name} of model ${model} is ${expected}, but the file has ${part.datatype} [${part.shape.join(',')}]`,
        );
      return { ...part, name: input.name, shape };
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function partsOf({ path, bytes }: PayloadFile, inputs: readonly TensorDescription[]): Part[] {
  const kind = extname(path).toLowerCase();
  if (kind === '.json') return jsonParts(bytes.toString('utf8'));
  const [input] = inputs;
  if (input === undefined || inputs.length > 1)
    throw new Error(
      `the model has ${inputs.length} inputs (${inputs.map(({ name }) => name).join(', ')}): use a .json file`,
    );
  if (kind !== '.npy') return [rawPart(bytes, input)];
  const { datatype, shape, data } = parseNpy(bytes);
  return [{ name: null, datatype, shape, data: Buffer.from(data) }];
}

function jsonParts(text: string): Part[] {
  const { value, hasInfinities } = readJson(text);
  const { inputs } = (value ?? {}) as { inputs?: unknown };
  if (!Array.isArray(inputs)) throw new Error('it has no list "inputs", which an infer request needs');
  return inputs.map((input: Record<string, unknown>) => {
    const { name, datatype, shape, data } = input;
    if (typeof name !== 'string' || !isDatatype(datatype) || !isShape(shape))
      throw new Error('each of its inputs needs a name, a datatype and a shape');
    try {
      const bytes = bytesOfJson(name, datatype, shape, data, hasInfinities);
      return { name, datatype, shape, data: Buffer.from(bytes) };
    } catch (error) {
      throw error instanceof Refusal ? new Error(error.message) : error;
    }
  });
}

function readJson(text: string) {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message}`);
  }
}

/** One size that the model leaves free follows from how many elements there are. */
function rawPart(bytes: Buffer, { name, datatype, shape }: TensorDescription): Part {
  if (!isDatatype(datatype)) throw new Error(`input ${name} is of type ${datatype}, which has no fixed size`);
  const fixed = shape.reduce(
    (product, size) => (size < 0 ? product : product * size),
    DATATYPES[datatype].bytes,
  );
  const free = shape.filter((size) => size < 0).length;
  const size = bytes.length / fixed;
  if (free > 1)
    throw new Error(
      `input ${name} leaves ${free} sizes open ([${shape.join(',')}]): use a .npy file, which has a shape`,
    );
  if (free === 0 ? size !== 1 : !Number.isInteger(size) || size < 1)
    throw new Error(
      `input ${name} is ${datatype} [${shape.join(',')}], ${free === 0 ? '' : 'a multiple of '}${fixed} bytes, but the file has ${bytes.length}`,
    );
  return {
    name: null,
    datatype,
    shape: shape.map((each) => (each < 0 ? size : each)),
    data: Buffer.from(bytes),
  };
}

function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && value !== 'BYTES' && Object.hasOwn(DATATYPES, value);
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
