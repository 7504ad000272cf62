import protobuf, { type Reader } from 'protobufjs';
import { ApiError } from '../api-error.js';

/** Value of a parameter; null: the client sent none. */
type ParameterValue = string | number | boolean | null;
type Parameters = ReadonlyMap<string, ParameterValue>;

interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Parameters;
  /** InferTensorContents, not decoded: each part has some of the elements, one after the other. */
  readonly contents: readonly Uint8Array[];
}

interface RequestedOutput {
  readonly name: string;
  readonly parameters: Parameters;
}

/** A ModelInferRequest. Raw contents are views of its bytes. */
export interface InferMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
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
    const parameters = new Map<string, ParameterValue>();
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
    const parameters = new Map<string, ParameterValue>();
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
    const parameters = new Map<string, ParameterValue>();
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
  private parameter(parameters: Map<string, ParameterValue>): void {
    let name = '';
    let value: ParameterValue = null;
    this.each(this.end(), (field) => {
      if (field === 1) name = this.reader.string();
      else if (field === 2) value = this.value();
      else return false;
      return true;
    });
    parameters.set(name, value);
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

function toNumber(value: ReturnType<Reader['int64']>, isUnsigned = false): number {
  return protobuf.util.LongBits.from(value).toNumber(isUnsigned);
}
