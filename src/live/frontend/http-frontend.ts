import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { InferenceService } from '../service.js';
import { Catalog } from './catalog.js';
import { Connections } from './connections.js';
import { type Door, type DoorOptions, GRACE_MS, listen, settle } from './door.js';
import { HttpInfer } from './http-infer.js';
import { DoorRequest } from './http-request.js';
import { HttpRoutes } from './http-routes.js';
import { TokenCheck } from './token.js';

export interface HttpDoorOptions extends DoorOptions {
  /** A client must have sent its whole request within this, or is answered 408 and cut off. */
  readonly receiveTimeoutMs?: number;
  /** How long a connection may be idle between two requests. */
  readonly idleTimeoutMs?: number;
}

/**
 * Opens the HTTP/JSON transport of the Open Inference Protocol with the binary tensor data and model repository
 * extensions. Throws `E_LISTEN` if the address cannot be listened on and `E_TLS` for an unusable
 * certificate.
 *
 * @example
 * const door = await openHttpDoor(service, { port: 8000, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await door.close(true);
 */
export async function openHttpDoor(service: InferenceService, options: HttpDoorOptions): Promise<Door> {
  const { receiveTimeoutMs = 30_000, idleTimeoutMs = 75_000 } = options;
  const settings = settle(options);
  const catalog = new Catalog(service, settings.serverVersion);
  const infer = new HttpInfer(service, catalog, settings);
  const routes = new HttpRoutes(service, catalog, infer, new TokenCheck(settings.token), settings);
  const timeouts = {
    headersTimeout: receiveTimeoutMs,
    requestTimeout: receiveTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: Math.ceil(receiveTimeoutMs / 10),
  };
  const own = { ...timeouts, IncomingMessage: DoorRequest };
  const server = settings.tls === null ? createServer(own) : createTlsServer({ ...own, ...settings.tls });
  server.on('request', (request, response) => routes.handle(request, response));
  // Who asks before sending a body gets the answer that the request would get, and only then sends.
  server.on('checkContinue', (request, response) => {
    routes.handle(request, response);
    if (!response.headersSent) response.writeContinue();
  });
  const connections = new Connections(server);
  const port = await listen(server, 'HTTP', settings);
  return { port, close: (graceful) => close(server, connections, graceful) };
}

type DoorServer = Server<typeof DoorRequest>;

function close(server: DoorServer, connections: Connections, graceful: boolean): Promise<void> {
  return new Promise((resolve) => {
    // Connections become idle one by one, as their last request is answered.
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    const giveUp = setTimeout(() => connections.destroyAll(), GRACE_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(giveUp);
      resolve();
    });
    if (graceful) connections.destroySilent();
    else connections.destroyAll();
  });
}
