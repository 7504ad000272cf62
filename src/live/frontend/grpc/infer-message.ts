import protobuf, { type Reader } from 'protobufjs';
import { DATATYPES, type Datatype } from '../../model.js';
import { ApiError, shown } from '../api-error.js';
import type { TensorReader } from '../inference.js';
import type { Json } from '../json.js';
import { newView } from '../json-tensors.js';
import { decodeContents } from './protocol.js';

/** Value of a parameter; null: the client sent none. */
type ParameterValue = string | number | boolean | null;
type Parameters = Record<string, ParameterValue>;

interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Json;
  /** InferTensorContents, not decoded: each part has some of the elements, one after the other. */
  readonly contents: readonly Uint8Array[];
}

interface RequestedOutput {
  readonly name: string;
  readonly parameters: Json;
}

/** A ModelInferRequest. Raw contents are views of its bytes. */
interface InferMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Json;
  readonly inputs: readonly InferInput[];
  readonly outputs: readonly RequestedOutput[];
  readonly raw: readonly Uint8Array[];
}

/** Fields of one message, without the elements of tensors: each takes memory, however short it is. */
const MOST_FIELDS = 4096;
const LENGTH_DELIMITED = 2;

/** Decodes a ModelInferRequest without the elements of its tensors. Throws an `ApiError`. */
export function readInferMessage(bytes: Uint8Array): InferMessage {
  try {
    return new MessageReader(bytes).read();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError('invalid', `the message is malformed: ${(error as Error).message}`);
  }
}

class MessageReader {
  private readonly reader: Reader;
  private fields = 0;

  constructor(bytes: Uint8Array) {
    this.reader = protobuf.Reader.create(bytes);
  }

  read(): InferMessage {
    const { reader } = this;
    const [inputs, outputs, raw] = [[] as InferInput[], [] as RequestedOutput[], [] as Uint8Array[]];
    const parameters = noParameters();
    let [modelName, modelVersion, id] = ['', '', ''];
    this.each(reader.len, (field) => {
      if (field === 1) modelName = reader.string();
      else if (field === 2) modelVersion = reader.string();
      else if (field === 3) id = reader.string();
      else if (field === 4) this.parameter(parameters);
      else if (field === 5) inputs.push(this.input());
      else if (field === 6) outputs.push(this.output());
      else if (field === 7) raw.push(reader.bytes());
      else return false;
      return true;
    });
    return { modelName, modelVersion, id, parameters, inputs, outputs, raw };
  }

  private input(): InferInput {
    const { reader } = this;
    const [shape, contents] = [[] as number[], [] as Uint8Array[]];
    const parameters = noParameters();
    let [name, datatype] = ['', ''];
    this.each(this.end(), (field, wire) => {
      if (field === 1) name = reader.string();
      else if (field === 2) datatype = reader.string();
      else if (field === 3) this.sizes(shape, wire);
      else if (field === 4) this.parameter(parameters);
      else if (field === 5) contents.push(reader.bytes());
      else return false;
      return true;
    });
    return { name, datatype, shape, parameters, contents };
  }

  private output(): RequestedOutput {
    const parameters = noParameters();
    let name = '';
    this.each(this.end(), (field) => {
      if (field === 1) name = this.reader.string();
      else if (field === 2) this.parameter(parameters);
      else return false;
      return true;
    });
    return { name, parameters };
  }

  /** Sizes of a shape: in one packed list or several, or one by one. */
  private sizes(shape: number[], wire: number): void {
    const end = wire === LENGTH_DELIMITED ? this.end() : this.reader.pos + 1;
    while (this.reader.pos < end) {
      this.count();
      shape.push(toNumber(this.reader.int64()));
    }
  }

  /** An entry of a map. The last of several of one name counts. */
  private parameter(parameters: Parameters): void {
    let name = '';
    let value: ParameterValue = null;
    this.each(this.end(), (field) => {
      if (field === 1) name = this.reader.string();
      else if (field === 2) value = this.value();
      else return false;
      return true;
    });
    parameters[name] = value;
  }

  private value(): ParameterValue {
    const { reader } = this;
    let value: ParameterValue = null;
    this.each(this.end(), (field) => {
      if (field === 1) value = reader.bool();
      else if (field === 2) value = toNumber(reader.int64());
      else if (field === 3) value = reader.string();
      else if (field === 4) value = reader.double();
      else if (field === 5) value = toNumber(reader.uint64(), true);
      else return false;
      return true;
    });
    return value;
  }

  /** Calls `read` for each field up to `end`; it returns false for one that it does not know. */
  private each(end: number, read: (field: number, wire: number) => boolean): void {
    const { reader } = this;
    while (reader.pos < end) {
      this.count();
      const tag = reader.uint32();
      if (!read(tag >>> 3, tag & 7)) reader.skipType(tag & 7);
    }
    if (reader.pos !== end) throw new Error('a field is longer than its message');
  }

  private end(): number {
    return this.reader.uint32() + this.reader.pos;
  }

  private count(): void {
    this.fields++;
    if (this.fields <= MOST_FIELDS) return;
    const hint = 'send tensors raw, or in packed lists';
    throw new ApiError('invalid', `the message has more than ${MOST_FIELDS} fields: ${hint}`);
  }
}

/** Without a prototype, since clients choose the names. */
function noParameters(): Parameters {
  return Object.create(null);
}

function toNumber(value: ReturnType<Reader['int64']>, isUnsigned = false): number {
  return protobuf.util.LongBits.from(value).toNumber(isUnsigned);
}

/** Reads the inputs of a message, in their order. Throws an `ApiError`. */
export function contentsReader({ inputs, raw }: InferMessage, mostTypedBytes: number): TensorReader {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new ApiError(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  let nth = 0;
  return (input, { name, datatype, bytes }) => {
    const parts = input.contents as readonly Uint8Array[];
    if (raw.length === 0) {
      const count = bytes / DATATYPES[datatype].bytes;
      return bytesOfContents({ name, datatype, count, parts }, mostTypedBytes);
    }
    // MLServer's client sends an empty message next to raw contents.
    if (parts.some(({ length }) => length > 0))
      throw new ApiError('invalid', `input ${shown(name)}: has both contents and raw_input_contents`);
    return raw[nth++];
  };
}

/** A tensor whose elements lie in the typed lists of a message. */
interface TypedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Elements of its shape. */
  readonly count: number;
  /** InferTensorContents, in parts that have some of the elements each, one after the other. */
  readonly parts: readonly Uint8Array[];
}

type Element = number | boolean | { readonly low: number; readonly high: number };

/**
 * Reads typed contents into the bytes of a tensor. Throws an `ApiError` unless there are exactly as many elements as its
 * shape has, in the list that its datatype goes into, and in at most `mostBytes`.
 */
export function bytesOfContents(
  { name, datatype, count, parts }: TypedTensor,
  mostBytes: number,
): Uint8Array {
  const refuse = (why: string) => new ApiError('invalid', `input ${shown(name)}: ${why}`);
  const list = LISTS[datatype];
  if (list === undefined) throw refuse(`${datatype} must come in raw_input_contents`);
  const bytes = Buffer.concat(parts);
  if (bytes.length > mostBytes) {
    const limit = `typed contents may take ${mostBytes} bytes`;
    throw new ApiError('tooLarge', `input ${shown(name)}: ${limit}; send raw_input_contents instead`);
  }
  try {
    if (datatype === 'BYTES') return textsOf(bytes, count);
    const { [list]: elements = [], ...others } = decodeContents(bytes) as Record<string, readonly Element[]>;
    for (const other in others)
      if (others[other].length > 0) throw new Error(`expected ${list}, got ${other}`);
    if (elements.length !== count) throw wrongCount(count, list, elements.length);
    return tensorOf(datatype, elements);
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

function tensorOf(datatype: Datatype, elements: readonly Element[]): Uint8Array {
  const view = newView(datatype, elements.length);
  const values = view as Float64Array;
  const words = view.BYTES_PER_ELEMENT === 8 ? new Int32Array(view.buffer as ArrayBuffer) : null;
  for (let i = 0; i < elements.length; i++) {
    const value = elements[i];
    if (typeof value === 'object' && words !== null) {
      words[2 * i] = value.low;
      words[2 * i + 1] = value.high;
      continue;
    }
    values[i] = Number(value);
    // A typed array keeps only as many bits as it has.
    if (datatype.includes('INT') && values[i] !== value)
      throw new Error(`element ${i} is ${value}, which is no ${datatype}`);
  }
  return new Uint8Array(view.buffer as ArrayBuffer);
}

/** Elements of BYTES, each with its length before it. Decoded at once, empty ones would take a hundred times their bytes. */
function textsOf(bytes: Buffer, count: number): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  // Each has two bytes at least.
  const tensor = Buffer.allocUnsafeSlow(bytes.length + LENGTH_BYTES * Math.min(count, bytes.length / 2));
  let [texts, at] = [0, 0];
  for (; reader.pos < reader.len && texts < count; texts++) {
    if (reader.uint32() !== BYTES_ELEMENT) throw new Error('expected bytes_contents, got another list');
    const text = reader.bytes();
    at = tensor.writeUInt32LE(text.length, at);
    tensor.set(text, at);
    at += text.length;
  }
  const left = reader.pos < reader.len ? 1 : 0;
  if (texts + left !== count) throw wrongCount(count, 'bytes_contents', texts + left);
  return tensor.subarray(0, at);
}

function wrongCount(count: number, list: string, got: number): Error {
  return new Error(`expected ${count} elements in ${list}, got ${got > count ? 'more' : got}`);
}

/** Bytes of the length before each BYTES element of a tensor. */
const LENGTH_BYTES = 4;
/** Tag of an element of bytes_contents: field 8, with a length. */
const BYTES_ELEMENT = 0x42;

/** The list that a datatype goes into. */
const LISTS: Readonly<Partial<Record<Datatype, string>>> = {
  ...{ BOOL: 'bool_contents', INT8: 'int_contents', INT16: 'int_contents', INT32: 'int_contents' },
  ...{ INT64: 'int64_contents', UINT8: 'uint_contents', UINT16: 'uint_contents', UINT32: 'uint_contents' },
  ...{ UINT64: 'uint64_contents', FP32: 'fp32_contents', FP64: 'fp64_contents', BYTES: 'bytes_contents' },
};
