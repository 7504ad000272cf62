import { KIB } from '../../../base/units.js';
import type { InferenceService } from '../../service.js';
import type { Catalog } from '../catalog.js';
import type { Protocols } from '../grpc-messages.js';
import { NO_SETTINGS, NO_SHARED_MEMORY } from '../left-out.js';
import { asRefusal, Refusal } from '../refusal.js';
import type { GrpcInfer } from './infer.js';
import { framed } from './infer-response.js';
import { readModelRequest, readNamedModel, readOnlyReady } from './requests.js';
import type { Rpc, RpcMethod } from './rpc.js';
import { StreamInfer } from './stream-infer.js';
import { UnaryInfer } from './unary-infer.js';

/** What the methods work with. */
interface GrpcParts {
  readonly service: InferenceService;
  readonly catalog: Catalog;
  readonly infer: GrpcInfer;
  readonly maxBodyBytes: number;
  readonly protocols: Protocols;
}

/** What answers the methods of the Open Inference Protocol, by path. */
export function inferenceMethods({
  service,
  catalog,
  infer,
  maxBodyBytes,
  protocols,
}: GrpcParts): Map<string, RpcMethod> {
  const definitions = protocols.service('inference.GRPCInferenceService');
  const methods = new Map<string, RpcMethod>();
  const add = (name: string, respond: Respond, isOpen = false) => {
    const { path, responseSerialize } = definitions[name];
    methods.set(path, new SmallMethod(isOpen, respond, responseSerialize));
  };
  // Health is everybody's to ask.
  add('ServerLive', () => ({ live: service.state.hangs !== true }), true);
  add('ServerReady', () => ({ ready: service.state.notReady === null }), true);
  add('ModelReady', (bytes) => {
    const { name, version } = readNamedModel(bytes);
    return { ready: catalog.isReadyNamed(name, version) };
  });
  add('ServerMetadata', () => catalog.serverMetadata());
  add('ModelMetadata', (bytes) => {
    const { name, version } = readNamedModel(bytes);
    return catalog.modelMetadata(catalog.find(name, version));
  });
  add('RepositoryIndex', async (bytes) => ({ models: await catalog.index(readOnlyReady(bytes)) }));
  add('RepositoryModelLoad', (bytes) => {
    const { name, parameters } = readModelRequest(bytes);
    return catalog.load(name, parameters).then(empty);
  });
  add('RepositoryModelUnload', (bytes) => {
    const { name, parameters } = readModelRequest(bytes);
    return catalog.unload(name, parameters).then(empty);
  });
  add('ModelConfig', (bytes) => {
    const { name, version } = readNamedModel(bytes);
    return { config: catalog.modelConfig(catalog.find(name, version)) };
  });
  add('ModelStatistics', (bytes) => {
    const { name, version } = readNamedModel(bytes);
    if (name !== '') catalog.find(name, version);
    return catalog.statistics(name, version);
  });
  methods.set(definitions.ModelInfer.path, new UnaryInfer(infer, maxBodyBytes));
  methods.set(definitions.ModelStreamInfer.path, new StreamInfer(infer, maxBodyBytes));
  for (const [name, reason] of LEFT_OUT)
    methods.set(pathNextTo(definitions.ModelInfer.path, name), new LeftOut(reason));
  return methods;
}

const empty = () => ({});

/** Methods of other servers of the protocol, and why this one does not have them. */
const LEFT_OUT: readonly (readonly [name: string, reason: string])[] = [
  ['SystemSharedMemoryStatus', NO_SHARED_MEMORY],
  ['SystemSharedMemoryRegister', NO_SHARED_MEMORY],
  ['SystemSharedMemoryUnregister', NO_SHARED_MEMORY],
  ['CudaSharedMemoryStatus', NO_SHARED_MEMORY],
  ['CudaSharedMemoryRegister', NO_SHARED_MEMORY],
  ['CudaSharedMemoryUnregister', NO_SHARED_MEMORY],
  ['TraceSetting', NO_SETTINGS],
  ['LogSettings', NO_SETTINGS],
];

function pathNextTo(path: string, name: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1) + name;
}

class LeftOut implements RpcMethod {
  readonly isOpen = false;
  readonly isStream = false;
  readonly maxMessageBytes = 64 * KIB;

  constructor(private readonly reason: string) {}

  message(rpc: Rpc): void {
    rpc.refuse(new Refusal('unimplemented', this.reason));
  }
}

type Respond = (bytes: Uint8Array<ArrayBuffer>) => object | Promise<object>;

/** A method with short messages. */
class SmallMethod implements RpcMethod {
  readonly isStream = false;
  readonly maxMessageBytes = 64 * KIB;

  constructor(
    readonly isOpen: boolean,
    private readonly respond: Respond,
    private readonly serialize: (response: object) => Uint8Array,
  ) {}

  message(rpc: Rpc, bytes: Uint8Array<ArrayBuffer>): void {
    const response = this.respond(bytes);
    if (response instanceof Promise)
      response.then((it) => this.finish(rpc, it)).catch((e) => rpc.refuse(asRefusal(e)));
    else this.finish(rpc, response);
  }

  private finish(rpc: Rpc, response: object): void {
    rpc.finish([framed(this.serialize(response))]);
  }
}
