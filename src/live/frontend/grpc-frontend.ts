import {
  type ConnectionInjector,
  logVerbosity,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerListener,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import type { InferenceService } from '../service.js';
import { listen, renewTls } from '../wire/listener.js';
import { ApiError, asApiError } from './api-error.js';
import { type Frontend, type FrontendOptions, settle, type TurnedAway } from './frontend.js';
import { GrpcInfer } from './grpc/infer.js';
import {
  catalogMethods,
  describedProtocols,
  HEALTH_NAMES,
  inferenceService,
  small,
  smallHealth,
} from './grpc/protocol.js';
import { Connections, RPC, Rpc, rpcOf, statusOf, unary } from './grpc/rpc.js';
import { GRACE_MS, MOST_CALLS, mostAnswerBytes } from './limits.js';
import { checkToken, Site } from './site.js';

/** Methods that need no token. */
const OPEN_METHODS =
  /^\/(?:grpc\.health\.v1\.Health\/|inference\.GRPCInferenceService\/Server(?:Live|Ready)$)/;
const INFER_METHODS = /\/Model(?:Stream)?Infer$/;
/** Interval at which slow clients, incomplete messages and the server's health are checked. */
const LOOK_MS = 100;

// The library writes to stderr what it also returns.
setLogVerbosity(logVerbosity.NONE);

/**
 * Opens the gRPC transport of the Open Inference Protocol (open-inference.proto). Throws `E_LISTEN` if the address
 * cannot be listened on and `E_TLS` for an unusable certificate.
 *
 * @example
 * const frontend = await openGrpcFrontend(service, { port: 8001, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await frontend.close(true);
 */
export async function openGrpcFrontend(
  service: InferenceService,
  options: FrontendOptions,
  turnedAway: TurnedAway = () => {},
): Promise<Frontend> {
  const settings = settle(options);
  const frontend = new GrpcFrontend(new Site('grpc', service, settings, turnedAway));
  const { listener } = frontend.connections;
  return {
    port: await listen(listener, settings, ' for gRPC'),
    close: (graceful) => frontend.close(graceful),
    renew: (tls) => renewTls(listener, tls),
  };
}

class GrpcFrontend {
  readonly connections: Connections;
  private readonly server: Server;
  private readonly injector: ConnectionInjector;
  private readonly health = new HealthImplementation();
  private isServing: boolean | null = null;
  private readonly open = new Set<Rpc>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly site: Site) {
    const { settings } = site;
    this.server = new Server({
      interceptors: [(method, call) => this.intercept(method, call)],
      'grpc.enable_channelz': 0,
      'grpc.max_receive_message_length': settings.maxBodyBytes,
      'grpc.max_send_message_length': mostAnswerBytes(settings),
      'grpc.max_concurrent_streams': MOST_CALLS,
      'grpc.keepalive_time_ms': 60_000,
      'grpc.keepalive_timeout_ms': 20_000,
    });
    this.addServices();
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.connections = new Connections(site, (socket) => this.injector.injectConnection(socket));
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
    this.showHealth();
  }

  /** As a frontend's. */
  close(graceful: boolean): Promise<void> {
    this.site.isClosing = true;
    const { server, connections } = this;
    const cut = () => {
      server.forceShutdown();
      connections.closeAll();
    };
    return new Promise((resolve) => {
      const giveUp = setTimeout(cut, GRACE_MS);
      connections.listener.close(() => {
        clearTimeout(giveUp);
        clearInterval(this.timer);
        server.forceShutdown();
        resolve();
      });
      if (!graceful) {
        cut();
        return;
      }
      for (const rpc of this.open) rpc.drain();
      this.injector.drain(GRACE_MS);
      connections.closeSilent();
    });
  }

  private addServices(): void {
    const { server, site } = this;
    const infer = new GrpcInfer(site);
    server.addService(inferenceService(), {
      ...catalogMethods(site.service, site.catalog),
      ModelInfer: unary((request, metadata) => infer.unary(request, rpcOf(metadata))),
      ModelStreamInfer: (call: ServerDuplexStream<Buffer, object>) =>
        infer.stream(call, rpcOf(call.metadata)),
    });
    const limited = (limit: (definition: ServiceDefinition) => ServiceDefinition) => ({
      addService: (definition: ServiceDefinition, methods: UntypedServiceImplementation) =>
        server.addService(limit(definition), methods),
    });
    this.health.addToServer(limited(smallHealth) as Server);
    new ReflectionService(describedProtocols()).addToServer(limited((definition) => small(definition)));
  }

  /** Sees each call before its handler does, and keeps the handler from those that are refused. */
  private intercept(method: Method, call: ServerInterceptingCallInterface): ServerInterceptingCall {
    let rpc: Rpc | null = null;
    const attempt = (act: () => void) => {
      try {
        act();
      } catch (error) {
        const apiError = asApiError(error);
        if (INFER_METHODS.test(method.path)) this.site.apiErrors.add(apiError.kind);
        if (rpc === null) call.sendStatus(statusOf(apiError));
        else rpc.refuse(apiError);
      }
    };
    const listener: ServerListener = {
      onReceiveMetadata: (metadata, pass) =>
        attempt(() => {
          rpc = this.admit(method, call, metadata);
          pass(metadata);
          if (this.site.isClosing) rpc.drain();
        }),
      onReceiveMessage: (message, pass) =>
        attempt(() => {
          rpc?.received(message);
          pass(message);
        }),
      onReceiveHalfClose: (pass) => {
        rpc?.halfClosed();
        pass();
      },
      onCancel: () => {
        if (rpc === null) return;
        this.open.delete(rpc);
        rpc.end();
      },
    };
    // A message behind the status of a refusal would make the stream fail before that has left.
    return new ServerInterceptingCall(call, {
      start: (next) => next(listener),
      sendMessage: (message, next) => {
        if (rpc?.isRefused !== true) next(message);
      },
      sendStatus: (status, next) => {
        if (rpc?.isRefused !== true) next(status);
      },
    });
  }

  /** Lets a call in by its headers, before any of its message is read. Throws an `ApiError`. */
  private admit(method: Method, call: ServerInterceptingCallInterface, metadata: Metadata): Rpc {
    const isPublic = OPEN_METHODS.test(method.path);
    if (!isPublic) checkToken(this.site.settings.token, metadata.get('authorization')[0]?.toString());
    const connection = this.connections.at(call.getConnectionInfo());
    if (connection === undefined) throw new ApiError('cancelled', 'the client has gone');
    const rpc = new Rpc(this.site, connection, call, metadata, { ...method, isPublic });
    this.open.add(rpc);
    metadata.setOpaque(RPC, rpc);
    this.showHealth();
    return rpc;
  }

  private showHealth(): void {
    const isServing = this.site.service.state.notReady === null;
    if (isServing === this.isServing) return;
    this.isServing = isServing;
    for (const name of HEALTH_NAMES) this.health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
  }

  private look(): void {
    this.showHealth();
    this.connections.look();
    const nowMs = performance.now();
    for (const rpc of this.open) rpc.look(nowMs);
  }
}

type Method = Parameters<ServerInterceptor>[0];
