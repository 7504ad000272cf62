import { FieldCount, LENGTH_DELIMITED, ProtobufReader } from './protobuf-reader.js';

/** Value of a parameter; null: the client sent none. */
type ParameterValue = string | number | boolean | null;

/** Where typed contents lie in a message. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface InferInput {
  name: string;
  datatype: string;
  readonly shape: number[];
  parameters: Map<string, ParameterValue> | null;
  /** The parts of its contents, which are elements one after the other; null: none. */
  contents: Span[] | null;
}

interface WantedOutput {
  name: string;
  parameters: Map<string, ParameterValue> | null;
}

/** A ModelInferRequest. Typed contents are not decoded yet; raw ones are views of the message. */
export class InferMessage {
  modelName = '';
  modelVersion = '';
  id = '';
  parameters: Map<string, ParameterValue> | null = null;
  readonly inputs: InferInput[] = [];
  readonly outputs: WantedOutput[] = [];
  readonly raw: Uint8Array<ArrayBuffer>[] = [];

  /** Throws a refusal. */
  constructor(readonly bytes: Uint8Array<ArrayBuffer>) {
    const reader = new ProtobufReader(bytes, 0, bytes.length, new FieldCount());
    while (reader.next()) {
      if (reader.field === 1) this.modelName = reader.text();
      else if (reader.field === 2) this.modelVersion = reader.text();
      else if (reader.field === 3) this.id = reader.text();
      else if (reader.field === 4) this.parameters = readParameter(reader, this.parameters);
      else if (reader.field === 5) this.inputs.push(readInput(reader.message()));
      else if (reader.field === 6) this.outputs.push(readOutput(reader.message()));
      else if (reader.field === 7) this.raw.push(reader.data());
      else reader.skip();
    }
  }
}

function readInput(reader: ProtobufReader): InferInput {
  const input: InferInput = { name: '', datatype: '', shape: [], parameters: null, contents: null };
  while (reader.next()) {
    if (reader.field === 1) input.name = reader.text();
    else if (reader.field === 2) input.datatype = reader.text();
    else if (reader.field === 3) readSizes(reader, input.shape);
    else if (reader.field === 4) input.parameters = readParameter(reader, input.parameters);
    else if (reader.field === 5) {
      const to = reader.span();
      const span = { from: reader.at, to };
      reader.at = to;
      if (input.contents === null) input.contents = [span];
      else input.contents.push(span);
    } else reader.skip();
  }
  return input;
}

function readOutput(reader: ProtobufReader): WantedOutput {
  const output: WantedOutput = { name: '', parameters: null };
  while (reader.next()) {
    if (reader.field === 1) output.name = reader.text();
    else if (reader.field === 2) output.parameters = readParameter(reader, output.parameters);
    else reader.skip();
  }
  return output;
}

/** Sizes of a shape: in one packed list or several, or one by one. */
function readSizes(reader: ProtobufReader, sizes: number[]): void {
  if (reader.type !== LENGTH_DELIMITED) {
    sizes.push(reader.int64());
    return;
  }
  const packed = reader.message();
  while (packed.at < packed.end) sizes.push(packed.packedInt64());
}

/** An entry of a map of InferParameter. The last of several of one name counts. */
function readParameter(
  reader: ProtobufReader,
  parameters: Map<string, ParameterValue> | null,
): Map<string, ParameterValue> {
  const entry = reader.message();
  let name = '';
  let value: ParameterValue = null;
  while (entry.next()) {
    if (entry.field === 1) name = entry.text();
    else if (entry.field === 2) value = readValue(entry.message());
    else entry.skip();
  }
  return (parameters ?? new Map()).set(name, value);
}

function readValue(reader: ProtobufReader): ParameterValue {
  let value: ParameterValue = null;
  while (reader.next()) {
    if (reader.field === 1) value = reader.boolean();
    else if (reader.field === 2) value = reader.int64();
    else if (reader.field === 3) value = reader.text();
    else if (reader.field === 4) value = reader.double();
    else if (reader.field === 5) value = reader.uint64();
    else reader.skip();
  }
  return value;
}
