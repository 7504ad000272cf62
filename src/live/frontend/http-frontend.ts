import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { InferenceService } from '../service.js';
import { asApiError } from './api-error.js';
import {
  type Frontend,
  type FrontendOptions,
  type FrontendSettings,
  listen,
  renewTls,
  settle,
  UNHEARD,
} from './frontend.js';
import { HttpConnection, HttpExchange, HttpSite } from './http-exchange.js';
import { hangUp, NO_PROXY, type ParserError, parserProblem } from './http-problem.js';
import { answer } from './http-routes.js';
import { GRACE_MS, MOST_HEADER_BYTES, MOST_TURNED_AWAY } from './limits.js';

/** Time for which a closing server goes on listening: a request that is on its way is answered, not reset. */
const LAST_CALL_MS = 250;

/**
 * Opens the HTTP/JSON transport of the Open Inference Protocol with the binary tensor data, classification, statistics,
 * model configuration and model repository extensions. Throws `E_LISTEN` if the address cannot be listened on and
 * `E_TLS` for an unusable certificate.
 *
 * @example
 * const frontend = await openHttpFrontend(service, { port: 8000, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await frontend.close(true);
 */
export async function openHttpFrontend(
  service: InferenceService,
  options: FrontendOptions,
  events = UNHEARD,
): Promise<Frontend> {
  const settings = settle(options);
  const site = new HttpSite(service, settings, events);
  const server = newServer(settings);
  const connections = new Map<Socket, HttpConnection>();
  limitConnections(server, site);
  server.on(settings.tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
    // It may have been turned away.
    if (!socket.writable) return;
    connections.set(socket, new HttpConnection(socket, site.accountOf(socket)));
    socket.once('close', () => connections.delete(socket));
  });
  const take = (asksFirst: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    const exchange = new HttpExchange(site, connection, request, response, asksFirst);
    if (connection.begin(exchange)) void answer(exchange);
  };
  server.on('request', take(false));
  server.on('checkContinue', take(true));
  // What else a client may expect does not matter.
  server.on('checkExpectation', take(false));
  server.on('connect', (_request, socket) => connections.get(socket.resume() as Socket)?.end(NO_PROXY));
  server.on('clientError', (error: ParserError, socket) => {
    const problem = parserProblem(error);
    const connection = connections.get(socket as Socket);
    if (problem === null || connection === undefined) {
      socket.destroy();
      return;
    }
    if (problem.kind === 'tooSlow') events.cutOff(connection.address, problem.message);
    connection.end(problem);
  });
  const port = await listen(server, 'HTTP', settings);
  return { port, close: (graceful) => close(graceful), renew: (tls) => renewTls(server, tls) };

  async function close(graceful: boolean): Promise<void> {
    site.isClosing = true;
    if (graceful && connections.size > 0) await new Promise((resolve) => setTimeout(resolve, LAST_CALL_MS));
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      // Idle connections end now, the others with their last answer.
      server.close(() => {
        clearTimeout(giveUp);
        resolve();
      });
      for (const connection of connections.values()) connection.destroySilent();
      if (!graceful) server.closeAllConnections();
    });
    await site.codec.close();
  }
}

function newServer({ tls, ...settings }: FrontendSettings): Server {
  const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs, handshakeTimeoutMs } = settings;
  const options = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: Math.ceil(Math.min(headersTimeoutMs, requestTimeoutMs) / 10),
    // Looked at with the rest of a request, to be refused with words.
    requireHostHeader: false,
    noDelay: true,
  };
  if (tls === null) return createServer(options);
  return createTlsServer({ ...options, ...tls, handshakeTimeout: handshakeTimeoutMs });
}

/** Lets in as many connections as there may be; the next ones hear why, unless they expect TLS. */
function limitConnections(server: Server, site: HttpSite): void {
  let leaving = 0;
  server.on('connection', (socket: Socket) => {
    try {
      site.admit(socket);
    } catch (error) {
      socket.on('error', () => {});
      if (site.settings.tls !== null || leaving >= MOST_TURNED_AWAY) {
        socket.destroy();
        return;
      }
      leaving++;
      socket.once('close', () => leaving--);
      hangUp(socket, asApiError(error));
    }
  });
}
