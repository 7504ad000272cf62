import { createServer, type Server as Listener } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { InferenceService } from '../service.js';
import { Arrivals } from './arrivals.js';
import { Catalog } from './catalog.js';
import { Connections } from './connections.js';
import {
  type Frontend,
  type FrontendOptions,
  type FrontendSettings,
  GRACE_MS,
  listen,
  settle,
} from './frontend.js';
import { GrpcArrivals } from './grpc-arrivals.js';
import { GrpcInfer } from './grpc-infer.js';
import { loadService } from './grpc-messages.js';
import { grpcMethods } from './grpc-methods.js';
import { TokenCheck } from './token.js';

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
): Promise<Frontend> {
  const settings = settle(options);
  const clock = new Arrivals(() => service.nowNs());
  const arrivals = new GrpcArrivals(clock);
  const catalog = new Catalog(service, settings);
  const infer = new GrpcInfer(service, catalog, settings);
  const server = new Server({
    'grpc.max_receive_message_length': settings.maxBodyBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.enable_channelz': 0,
    interceptors: [arrivals.interceptor],
  });
  const token = new TokenCheck(settings.token);
  server.addService(loadService(), grpcMethods({ service, catalog, infer, arrivals, token }));
  const injector = server.createConnectionInjector(credentialsOf(settings));
  // The library would not hang up on connections that say nothing when it closes; a listener of our own can.
  const listener = createServer((socket) => injector.injectConnection(socket));
  const connections = new Connections(listener);
  listener.on('close', () => clock.close());
  const port = await listen(listener, 'gRPC', settings);
  return { port, close: (graceful) => close(server, listener, connections, graceful) };
}

/** A client that does not answer a ping in time has gone without a word. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

function credentialsOf({ tls }: FrontendSettings): ServerCredentials {
  return tls === null
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }]);
}

function close(
  server: Server,
  listener: Listener,
  connections: Connections,
  graceful: boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = setTimeout(() => connections.destroyAll(), GRACE_MS);
    listener.close(() => {
      clearTimeout(giveUp);
      resolve();
    });
    if (graceful) connections.destroySilent();
    else connections.destroyAll();
    // Calls under way are answered; then nothing is left that a connection could be open for.
    server.tryShutdown(() => connections.destroyAll());
  });
}
