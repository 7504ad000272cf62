import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { InferenceService } from '../service.js';
import { Catalog } from './catalog.js';
import { cannotListen, type Door, type DoorOptions, type DoorSettings, GRACE_MS, settle } from './door.js';
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
  const server = await listen(settings, timeouts, routes);
  return { port: (server.address() as AddressInfo).port, close: (graceful) => close(server, graceful) };
}

type DoorServer = Server<typeof DoorRequest>;

function listen(settings: DoorSettings, timeouts: ServerOptions, routes: HttpRoutes): Promise<DoorServer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(cannotListen('HTTP', settings, error));
    const own = { ...timeouts, IncomingMessage: DoorRequest };
    const server = settings.tls === null ? createServer(own) : createTlsServer({ ...own, ...settings.tls });
    server.on('request', (request, response) => routes.handle(request, response));
    // Who asks before sending a body gets the answer that the request would get, and only then sends.
    server.on('checkContinue', (request, response) => {
      routes.handle(request, response);
      if (!response.headersSent) response.writeContinue();
    });
    server.once('error', fail);
    server.listen(settings.port, settings.host, () => {
      server.off('error', fail);
      resolve(server);
    });
  });
}

function close(server: DoorServer, graceful: boolean): Promise<void> {
  return new Promise((resolve) => {
    // Connections become idle one by one, as their last request is answered.
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    const giveUp = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(giveUp);
      resolve();
    });
    if (!graceful) server.closeAllConnections();
  });
}
