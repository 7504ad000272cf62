import { KIB } from '../../../base/units.js';
import type { InferenceService } from '../../service.js';
import type { Catalog } from '../catalog.js';
import { loadService } from '../grpc-messages.js';
import { asRefusal } from '../refusal.js';
import type { GrpcInfer } from './infer.js';
import { framed } from './infer-response.js';
import { readModelRequest, readNamedModel, readOnlyReady } from './requests.js';
import type { Rpc, RpcMethod } from './rpc.js';
import { UnaryInfer } from './unary-infer.js';

/** What the methods work with. */
interface GrpcParts {
  readonly service: InferenceService;
  readonly catalog: Catalog;
  readonly infer: GrpcInfer;
  readonly maxBodyBytes: number;
}

/** What answers the methods of the Open Inference Protocol, by path. */
export function inferenceMethods({
  service,
  catalog,
  infer,
  maxBodyBytes,
}: GrpcParts): Map<string, RpcMethod> {
  const definitions = loadService();
  const methods = new Map<string, RpcMethod>();
  const add = (name: string, respond: Respond, isOpen = false) => {
    const { path, responseSerialize } = definitions[name];
    methods.set(path, new SmallMethod(isOpen, respond, responseSerialize));
  };
  // Health is everybody's to ask.
  add('ServerLive', () => ({ live: true }), true);
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
  add('RepositoryIndex', (bytes) => ({ models: catalog.index(readOnlyReady(bytes)) }));
  add('RepositoryModelLoad', (bytes) => {
    const { name, parameters } = readModelRequest(bytes);
    return catalog.load(name, parameters).then(empty);
  });
  add('RepositoryModelUnload', (bytes) => {
    const { name, parameters } = readModelRequest(bytes);
    return catalog.unload(name, parameters).then(empty);
  });
  methods.set(definitions.ModelInfer.path, new UnaryInfer(infer, maxBodyBytes));
  return methods;
}

const empty = () => ({});

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
