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
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import type { InferenceService } from '../service.js';
import { ApiError, asApiError } from './api-error.js';
import { ApiErrorCounts } from './api-error-counts.js';
import { Budget, budgetLimits } from './budget.js';
import { Catalog } from './catalog.js';
import {
  type CutOff,
  type Frontend,
  type FrontendOptions,
  type FrontendSettings,
  GRACE_MS,
  listen,
  mostAnswerBytes,
  settle,
} from './frontend.js';
import { Connections } from './grpc/connections.js';
import { GrpcInfer } from './grpc/infer.js';
import { catalogMethods, inferenceService, small } from './grpc/methods.js';
import { Rpc, statusOf } from './grpc/rpc.js';
import { describedProtocols, INFERENCE_SERVICE } from './grpc-messages.js';
import { TokenCheck } from './token.js';
import { TurnedAway } from './turned-away.js';

const SERVICE = 'inference.GRPCInferenceService';
/** Methods that need no token. */
const OPEN_METHODS =
  /^\/(?:grpc\.health\.v1\.Health\/|inference\.GRPCInferenceService\/Server(?:Live|Ready)$)/;
const INFER_METHODS = /\/Model(?:Stream)?Infer$/;
/** Under which a handler finds its call in the metadata. */
const RPC = 'rpc';
/** Calls of one connection at a time. */
const MOST_STREAMS = 128;
/** Interval at which slow clients and the server's health are checked. */
const LOOK_MS = 250;

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
  cutOff: CutOff = () => {},
  turnedAway = new TurnedAway(),
): Promise<Frontend> {
  const settings = settle(options);
  const frontend = new GrpcFrontend(service, settings, cutOff, turnedAway);
  const port = await listen(frontend.connections.listener, 'gRPC', settings);
  return {
    port,
    close: (graceful) => frontend.close(graceful),
    renew: (tls) => frontend.connections.renew(tls),
  };
}

class GrpcFrontend {
  readonly connections: Connections;
  private readonly server: Server;
  private readonly injector: ConnectionInjector;
  private readonly health = new HealthImplementation();
  private shownHealth = '';
  private readonly apiErrors: ApiErrorCounts;
  private readonly token: TokenCheck;
  private readonly open = new Set<Rpc>();
  private readonly timer: NodeJS.Timeout;
  private isClosing = false;

  constructor(
    private readonly service: InferenceService,
    settings: FrontendSettings,
    private readonly cutOff: CutOff,
    turnedAway: TurnedAway,
  ) {
    this.apiErrors = new ApiErrorCounts(settings.apiErrors, 'grpc');
    this.token = new TokenCheck(settings.token);
    this.server = new Server({
      interceptors: [(method, call) => this.intercept(method, call)],
      'grpc.enable_channelz': 0,
      'grpc.max_receive_message_length': settings.maxBodyBytes,
      'grpc.max_send_message_length': mostAnswerBytes(settings),
      'grpc.max_concurrent_streams': MOST_STREAMS,
      'grpc.keepalive_time_ms': 60_000,
      'grpc.keepalive_timeout_ms': 20_000,
    });
    this.addServices(settings);
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.connections = new Connections({
      budget: new Budget(budgetLimits(settings), settings.budget ?? undefined),
      tls: settings.tls,
      handshakeTimeoutMs: settings.handshakeTimeoutMs,
      accepted: (socket) => this.injector.injectConnection(socket),
      refused: ({ kind }, client) => {
        this.apiErrors.add(kind);
        if (kind === 'tooManyConnections') turnedAway.add(kind, client);
      },
    });
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
    this.showHealth();
  }

  /** As a frontend's. */
  close(graceful: boolean): Promise<void> {
    this.isClosing = true;
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
    });
  }

  private addServices(settings: FrontendSettings): void {
    const { server, service } = this;
    const catalog = new Catalog(service, settings);
    const infer = new GrpcInfer(service, catalog, settings, this.apiErrors);
    server.addService(inferenceService(INFERENCE_SERVICE), {
      ...catalogMethods(service, catalog),
      ModelInfer: ({ metadata, request }: ServerUnaryCall<Buffer, object>, done: sendUnaryData<object>) => {
        infer.unary(request, metadata.getOpaque(RPC) as Rpc, (response) => done(null, response));
      },
      ModelStreamInfer: (call: ServerDuplexStream<Buffer, object>) => {
        infer.stream(call, call.metadata.getOpaque(RPC) as Rpc);
      },
    });
    const withSmallMessages = {
      addService: (definition: ServiceDefinition, methods: UntypedServiceImplementation) =>
        server.addService(small(definition), methods),
    };
    this.health.addToServer(withSmallMessages);
    new ReflectionService(describedProtocols()).addToServer(withSmallMessages);
  }

  /** Sees each call before its handler does, and keeps the handler from those that are refused. */
  private intercept(method: Method, call: ServerInterceptingCallInterface): ServerInterceptingCall {
    let rpc: Rpc | null = null;
    const attempt = (act: () => void) => {
      try {
        act();
      } catch (error) {
        const apiError = asApiError(error);
        if (INFER_METHODS.test(method.path)) this.apiErrors.add(apiError.kind);
        call.sendStatus(statusOf(apiError));
      }
    };
    const listener: ServerListener = {
      onReceiveMetadata: (metadata, pass) =>
        attempt(() => {
          rpc = this.admit(method, call, metadata);
          pass(metadata);
          if (this.isClosing) rpc.drain();
        }),
      onReceiveMessage: (message, pass) =>
        attempt(() => {
          rpc?.received(Buffer.isBuffer(message) ? message.length : 0);
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
    return new ServerInterceptingCall(call, { start: (next) => next(listener) });
  }

  /** Lets a call in by its headers, before any of its message is read. Throws an `ApiError`. */
  private admit(method: Method, call: ServerInterceptingCallInterface, metadata: Metadata): Rpc {
    if (!OPEN_METHODS.test(method.path)) this.token.admit(metadata.get('authorization')[0]?.toString());
    const { remoteAddress, remotePort } = call.getConnectionInfo();
    const connection = this.connections.at(remoteAddress, remotePort);
    if (connection === undefined) throw new ApiError('cancelled', 'the client has gone');
    const isStream = method.requestStream || method.responseStream;
    const rpc = new Rpc(call, connection, metadata, this.service.nowNs(), isStream);
    this.open.add(rpc);
    metadata.setOpaque(RPC, rpc);
    this.showHealth();
    return rpc;
  }

  private showHealth(): void {
    const status = this.service.state.notReady === null ? 'SERVING' : 'NOT_SERVING';
    if (status === this.shownHealth) return;
    this.shownHealth = status;
    for (const name of ['', SERVICE]) this.health.setStatus(name, status);
  }

  private look(): void {
    this.showHealth();
    const nowMs = performance.now();
    for (const rpc of this.open) {
      const why = rpc.cutOff(nowMs);
      if (why !== null) this.cutOff(rpc.client, why);
    }
  }
}

type Method = Parameters<ServerInterceptor>[0];
