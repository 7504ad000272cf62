import type { Protocols } from '../grpc-messages.js';
import { shown } from '../refusal.js';
import { framed } from './infer-response.js';
import { FieldCount, ProtobufReader } from './protobuf-reader.js';
import { ProtobufWriter } from './protobuf-writer.js';
import type { Rpc, RpcMethod } from './rpc.js';

const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

// Fields of ServerReflectionRequest and ServerReflectionResponse.
const FILE_BY_NAME = 3;
const FILE_OF_SYMBOL = 4;
const EXTENSION_NUMBERS = 6;
const LIST_SERVICES = 7;
const ORIGINAL_REQUEST = 2;
const DESCRIPTORS = 4;
const SERVICES = 6;
const ERROR = 7;

/** Server reflection: tools such as grpcurl ask it what there is to call. In both versions, which differ in name only. */
export function reflectionMethods(protocols: Protocols): Map<string, RpcMethod> {
  const { path } = protocols.service('grpc.reflection.v1.ServerReflection').ServerReflectionInfo;
  const method = new Reflection(protocols);
  return new Map([
    [path, method],
    [path.replace('.v1.', '.v1alpha.'), method],
  ]);
}

class Reflection implements RpcMethod {
  readonly isOpen = false;
  readonly isStream = true;
  readonly maxMessageBytes = 4096;

  constructor(private readonly protocols: Protocols) {}

  message(rpc: Rpc, bytes: Uint8Array<ArrayBuffer>): void {
    rpc.send([framed(this.response(bytes))]);
  }

  ended(rpc: Rpc): void {
    rpc.finish();
  }

  private response(request: Uint8Array<ArrayBuffer>): Uint8Array {
    const writer = new ProtobufWriter();
    writer.announce(ORIGINAL_REQUEST, request.length);
    writer.append(request);
    const { protocols } = this;
    const { field, value } = readRequest(request);
    if (field === LIST_SERVICES) writeServices(writer, protocols.serviceNames());
    else if (field === FILE_OF_SYMBOL) writeFiles(writer, protocols.descriptorsOf(value), value);
    else if (field === FILE_BY_NAME) writeFiles(writer, protocols.descriptorsNamed(value), value);
    else if (field === EXTENSION_NUMBERS) writeError(writer, NOT_FOUND, 'no message here has extensions');
    else writeError(writer, UNIMPLEMENTED, 'this question is not known here');
    return writer.written;
  }
}

/** What is asked for, by the number of its field; 0: nothing known. */
function readRequest(bytes: Uint8Array<ArrayBuffer>): { field: number; value: string } {
  const reader = new ProtobufReader(bytes, 0, bytes.length, new FieldCount());
  const asked = { field: 0, value: '' };
  while (reader.next()) {
    const { field } = reader;
    if (
      field === FILE_BY_NAME ||
      field === FILE_OF_SYMBOL ||
      field === EXTENSION_NUMBERS ||
      field === LIST_SERVICES
    ) {
      asked.field = field;
      asked.value = reader.text();
    } else reader.skip();
  }
  return asked;
}

function writeFiles(writer: ProtobufWriter, files: readonly Uint8Array[] | null, asked: string): void {
  if (files === null) {
    writeError(writer, NOT_FOUND, `${shown(asked)} is not known here`);
    return;
  }
  const start = writer.begin(DESCRIPTORS);
  for (const file of files) {
    writer.announce(1, file.length);
    writer.append(file);
  }
  writer.end(start);
}

function writeServices(writer: ProtobufWriter, names: readonly string[]): void {
  const start = writer.begin(SERVICES);
  for (const name of names) {
    const service = writer.begin(1);
    writer.text(1, name);
    writer.end(service);
  }
  writer.end(start);
}

function writeError(writer: ProtobufWriter, code: number, message: string): void {
  const start = writer.begin(ERROR);
  writer.int64(1, code);
  writer.text(2, message);
  writer.end(start);
}
