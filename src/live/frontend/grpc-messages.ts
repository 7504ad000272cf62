import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';
import { protoPath as HEALTH_FILE } from 'grpc-health-check';
import descriptor, { type IDescriptorProto } from 'protobufjs/ext/descriptor/index.js';

/** The Open Inference Protocol: where its file lies, the same path from here in src and, compiled, in dist. */
export const PROTOCOL_FILE = fileURLToPath(
  new URL('../../../src/live/frontend/open-inference.proto', import.meta.url),
);

const protocol = loadSync(PROTOCOL_FILE, { keepCase: true, defaults: true });

/** The methods of the Open Inference Protocol. */
export const INFERENCE_SERVICE = protocol['inference.GRPCInferenceService'] as ServiceDefinition;

/** Decodes an InferTensorContents. */
export function decodeContents(bytes: Buffer): object {
  return (protocol['inference.InferTensorContents'] as MessageTypeDefinition<object, object>).deserialize(
    bytes,
  );
}

/** The protocols of this server as reflection describes them. */
export function describedProtocols(): PackageDefinition {
  const files = [PROTOCOL_FILE, HEALTH_FILE].map((file) => {
    // Each message comes with the descriptors of its whole file.
    const [message] = Object.values(loadSync(file, { keepCase: true })).filter(isMessage);
    return { ...message, fileDescriptorProtos: message.fileDescriptorProtos.map(withEntryNames) };
  });
  return Object.fromEntries(files.entries());
}

function isMessage(definition: object): definition is MessageTypeDefinition<object, object> {
  return 'fileDescriptorProtos' in definition;
}

/**
 * A FileDescriptorProto with the names that protobuf prescribes for the entries of maps: `ParametersEntry`, where
 * protobufjs writes `Parameters`. Other libraries refuse the file otherwise.
 */
function withEntryNames(bytes: Uint8Array): Buffer {
  const file = descriptor.FileDescriptorProto.decode(bytes);
  nameEntries((file as unknown as { messageType: IDescriptorProto[] }).messageType);
  return Buffer.from(descriptor.FileDescriptorProto.encode(file).finish());
}

function nameEntries(messages: readonly IDescriptorProto[]): void {
  for (const { nestedType = [], field: fields = [] } of messages) {
    for (const entry of nestedType) {
      if (entry.options?.mapEntry !== true) continue;
      const name = `${entry.name}Entry`;
      for (const field of fields) if (field.typeName === entry.name) field.typeName = name;
      entry.name = name;
    }
    nameEntries(nestedType);
  }
}
