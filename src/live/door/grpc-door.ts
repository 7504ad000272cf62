import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { InferenceService } from '../service.js';
import { formatAddress } from '../transport/address.js';
import { Catalog } from './catalog.js';
import { cannotListen, type Door, type DoorOptions, type DoorSettings, GRACE_MS, settle } from './door.js';
import { GrpcInfer } from './grpc-infer.js';
import { loadService } from './grpc-messages.js';
import { grpcMethods } from './grpc-methods.js';
import { TokenCheck } from './token.js';

/**
 * Opens the gRPC transport of the Open Inference Protocol (open-inference.proto). Throws `E_LISTEN` if the address
 * cannot be listened on and `E_TLS` for an unusable certificate.
 *
 * @example
 * const door = await openGrpcDoor(service, { port: 8001, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await door.close(true);
 */
export async function openGrpcDoor(service: InferenceService, options: DoorOptions): Promise<Door> {
  const settings = settle(options);
  const catalog = new Catalog(service, settings.serverVersion);
  const infer = new GrpcInfer(service, catalog, settings);
  const server = new Server({
    'grpc.max_receive_message_length': settings.maxBodyBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.enable_channelz': 0,
  });
  server.addService(loadService(), grpcMethods(service, catalog, infer, new TokenCheck(settings.token)));
  const port = await listen(server, settings);
  return { port, close: (graceful) => close(server, graceful) };
}

/** A client that does not answer a ping in time has gone without a word. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

function listen(server: Server, settings: DoorSettings): Promise<number> {
  const { host, port, tls } = settings;
  const credentials =
    tls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }]);
  return new Promise((resolve, reject) => {
    server.bindAsync(formatAddress(host, port), credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(cannotListen('gRPC', settings, error));
    });
  });
}

function close(server: Server, graceful: boolean): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = setTimeout(() => server.forceShutdown(), GRACE_MS);
    server.tryShutdown(() => {
      clearTimeout(giveUp);
      resolve();
    });
    if (!graceful) server.forceShutdown();
  });
}
