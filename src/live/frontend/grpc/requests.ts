import { FieldCount, ProtobufReader } from './protobuf-reader.js';

// The small messages of open-inference.proto that a server reads.

/** ModelReadyRequest and others of its form. Throws a refusal. */
export function readNamedModel(bytes: Uint8Array<ArrayBuffer>): { name: string; version: string } {
  const reader = readerOf(bytes);
  let name = '';
  let version = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else if (reader.field === 2) version = reader.text();
    else reader.skip();
  }
  return { name, version };
}

/** RepositoryIndexRequest: whether it asks only for models that take requests. Throws a refusal. */
export function readOnlyReady(bytes: Uint8Array<ArrayBuffer>): boolean {
  const reader = readerOf(bytes);
  let onlyReady = false;
  while (reader.next()) {
    if (reader.field === 2) onlyReady = reader.boolean();
    else reader.skip();
  }
  return onlyReady;
}

/** RepositoryModelLoadRequest and RepositoryModelUnloadRequest, with the names of the parameters. Throws a refusal. */
export function readModelRequest(bytes: Uint8Array<ArrayBuffer>): { name: string; parameters: string[] } {
  const reader = readerOf(bytes);
  let name = '';
  const parameters: string[] = [];
  while (reader.next()) {
    if (reader.field === 2) name = reader.text();
    else if (reader.field === 3) parameters.push(keyOf(reader.message()));
    else reader.skip();
  }
  return { name, parameters };
}

function keyOf(entry: ProtobufReader): string {
  let key = '';
  while (entry.next()) {
    if (entry.field === 1) key = entry.text();
    else entry.skip();
  }
  return key;
}

function readerOf(bytes: Uint8Array<ArrayBuffer>): ProtobufReader {
  return new ProtobufReader(bytes, 0, bytes.length, new FieldCount());
}
