import { fileURLToPath } from 'node:url';
import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';
import { protoPath as HEALTH_FILE } from 'grpc-health-check';
import descriptor, { type IDescriptorProto } from 'protobufjs/ext/descriptor/index.js';
import type { InferenceService } from '../../service.js';
import { MOST_CONTROL_BYTES } from '../limits.js';
import type { Catalog } from '../site.js';
import { type Message, type Respond, rpcOf, unary } from './rpc.js';

/** The Open Inference Protocol: where its file lies, the same path from here in src and, compiled, in dist. */
export const PROTOCOL_FILE = fileURLToPath(
  new URL('../../../../src/live/frontend/open-inference.proto', import.meta.url),
);

const SERVICE = 'inference.GRPCInferenceService';
const METHODS = loadSync(PROTOCOL_FILE, { keepCase: true, defaults: true })[SERVICE] as ServiceDefinition;

/** The protocols of this server as reflection describes them. */
export function describedProtocols(): PackageDefinition {
  const files = [PROTOCOL_FILE, HEALTH_FILE].map((file) => {
    // Each message includes the descriptors of its whole file.
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

/** A service with small messages; larger ones are refused before they are decoded. `change`: what handlers get in place of a message. */
export function small(service: ServiceDefinition, change = (message: Message) => message): ServiceDefinition {
  const limited = Object.entries(service).map(([name, method]) => {
    const requestDeserialize = (bytes: Buffer) => {
      if (bytes.length > MOST_CONTROL_BYTES)
        throw new Error(`a message of more than ${MOST_CONTROL_BYTES} bytes`);
      return change(method.requestDeserialize(bytes));
    };
    return [name, { ...method, requestDeserialize }];
  });
  return Object.fromEntries(limited);
}

/** Services whose health is known: the server as a whole. */
export const HEALTH_NAMES = ['', SERVICE];

/** The health service, with one unknown name in place of all others: its library keeps each that is ever watched. */
export function smallHealth(health: ServiceDefinition): ServiceDefinition {
  const known = ({ service = '' }: Message) => (HEALTH_NAMES.includes(service) ? service : 'of another name');
  return small(health, (message) => ({ service: known(message) }));
}

/** The methods of the Open Inference Protocol. Those with tensors decode their messages themselves, the others encode theirs. */
export function inferenceService(): ServiceDefinition {
  const asBytes = (bytes: Buffer) => bytes;
  const { ModelInfer, ModelStreamInfer, ...others } = METHODS;
  const encoded = Object.entries(small(others)).map(([name, method]) => [
    name,
    { ...method, responseSerialize: asBytes },
  ]);
  return {
    ...Object.fromEntries(encoded),
    ModelInfer: { ...ModelInfer, requestDeserialize: asBytes },
    ModelStreamInfer: { ...ModelStreamInfer, requestDeserialize: asBytes },
  };
}

/** Handlers of the protocol's methods that take no tensors. */
export function catalogMethods(service: InferenceService, catalog: Catalog): UntypedServiceImplementation {
  const methods: Record<string, Respond> = {
    ServerLive: () => ({ live: service.state.hangs !== true }),
    ServerReady: () => ({ ready: service.state.notReady === null }),
    ModelReady: ({ name, version }) => ({ ready: catalog.isReadyNamed(name, version) }),
    ServerMetadata: () => catalog.serverMetadata(),
    ModelMetadata: ({ name, version }) => catalog.modelMetadata(catalog.find(name, version)),
    ModelConfig: ({ name, version }) => ({ config: catalog.modelConfig(catalog.find(name, version)) }),
    ModelStatistics: ({ name, version }) => {
      if (name !== '') catalog.find(name, version);
      return catalog.statistics(name, version);
    },
    RepositoryIndex: async ({ ready }) => ({ models: await catalog.index(ready) }),
    RepositoryModelLoad: async ({ model_name: name, parameters }) => {
      const given = Object.entries(parameters as Record<string, object>);
      await catalog.load(name, Object.fromEntries(given.map(([key, one]) => [key, Object.values(one)[0]])));
      return {};
    },
    RepositoryModelUnload: async ({ model_name: name, parameters }) => {
      await catalog.unload(name, Object.keys(parameters));
      return {};
    },
  };
  const held = Object.entries(methods).map(([name, respond]) => [
    name,
    unary(async (request, metadata) => {
      const bytes = METHODS[name].responseSerialize(await respond(request, metadata));
      const rpc = rpcOf(metadata);
      rpc.hold(bytes.length);
      rpc.responds();
      return bytes;
    }),
  ]);
  return Object.fromEntries(held);
}
