import {
  type handleUnaryCall,
  Metadata,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { unixMs } from '../../base/clock/wall-clock.js';
import { NS_PER_MS } from '../../base/units.js';
import type { InferenceService } from '../service.js';
import type { Catalog } from './catalog.js';
import type { GrpcArrivals } from './grpc-arrivals.js';
import type { GrpcInfer } from './grpc-infer.js';
import {
  MALFORMED,
  type ModelInferRequest,
  type NamedModel,
  type RepositoryIndexRequest,
  type RepositoryModelRequest,
} from './grpc-messages.js';
import { asRefusal, REFUSALS, Refusal } from './refusal.js';
import type { TokenCheck } from './token.js';

/** What the methods work with. */
interface GrpcParts {
  readonly service: InferenceService;
  readonly catalog: Catalog;
  readonly infer: GrpcInfer;
  readonly arrivals: GrpcArrivals;
  readonly token: TokenCheck;
}

/** What answers each method of the service, by its name. */
export function grpcMethods(parts: GrpcParts): UntypedServiceImplementation {
  const { service, catalog, infer, arrivals, token } = parts;
  /** A method that answers at once. */
  const simple = <Q>(respond: (request: Q) => object): handleUnaryCall<Q, object> =>
    guarded(token, (call, callback) => callback(null, respond(call.request)));
  return {
    // Health is everybody's to ask.
    ServerLive: guarded(null, (_, callback) => callback(null, { live: true })),
    ServerReady: guarded(null, (_, callback) => callback(null, { ready: service.state.notReady === null })),
    ModelReady: simple(({ name, version }: NamedModel) => ({
      ready: catalog.isReady(catalog.find(name ?? '', version ?? '')),
    })),
    ServerMetadata: simple(() => catalog.serverMetadata()),
    ModelMetadata: simple(({ name, version }: NamedModel) =>
      catalog.modelMetadata(catalog.find(name ?? '', version ?? '')),
    ),
    ModelInfer: guarded<ModelInferRequest>(token, (call, callback) =>
      infer.start(call.request, arrivals.of(call.metadata), leftNs(call), (refusal, response) =>
        refusal === null ? callback(null, response) : callback(serviceError(refusal)),
      ),
    ),
    RepositoryIndex: simple(({ ready }: RepositoryIndexRequest) => ({
      models: catalog.index(ready ?? false),
    })),
    RepositoryModelLoad: guarded<RepositoryModelRequest>(token, ({ request }, callback) => {
      const { model_name: name = '', parameters = {} } = request;
      acknowledge(catalog.load(name, Object.keys(parameters)), callback);
    }),
    RepositoryModelUnload: guarded<RepositoryModelRequest>(token, ({ request }, callback) => {
      const { model_name: name = '', parameters = {} } = request;
      acknowledge(catalog.unload(name, Object.keys(parameters)), callback);
    }),
  };
}

function acknowledge(work: Promise<void>, callback: sendUnaryData<object>): void {
  work.then(
    () => callback(null, {}),
    (error) => callback(serviceError(asRefusal(error))),
  );
}

/** What a method throws is its client's answer. `token` null: everybody may call it. */
function guarded<Q>(
  token: TokenCheck | null,
  handle: (call: ServerUnaryCall<Q, object>, callback: sendUnaryData<object>) => void,
): handleUnaryCall<Q, object> {
  return (call, callback) => {
    try {
      token?.admit(call.metadata.get('authorization')[0]?.toString());
      if (call.request === MALFORMED)
        throw new Refusal('invalid', 'the message is not what open-inference.proto says');
      handle(call, callback);
    } catch (error) {
      callback(serviceError(asRefusal(error)));
    }
  };
}

/**
 * How long the client will wait, ns. Its deadline is one of the wall clock; where that clock was set since this
 * process began, the library still keeps it: it answers every call whose time is up.
 */
function leftNs(call: ServerUnaryCall<unknown, unknown>): number {
  const deadlineMs = Number(call.getDeadline());
  const leftMs = deadlineMs - unixMs();
  return leftMs > 0 ? Math.round(leftMs * NS_PER_MS) : Number.POSITIVE_INFINITY;
}

function serviceError({ kind, message, predictedMs }: Refusal): Partial<ServiceError> {
  const metadata = new Metadata();
  if (predictedMs !== null) metadata.set('predicted-ms', String(predictedMs));
  return { code: REFUSALS[kind].grpc, details: message, metadata };
}
