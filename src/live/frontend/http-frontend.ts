import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { InferenceService } from '../service.js';
import { Arrivals } from './arrivals.js';
import { Catalog } from './catalog.js';
import { gateConnections } from './connection-gate.js';
import { Connections } from './connections.js';
import {
  type Frontend,
  type FrontendOptions,
  type FrontendSettings,
  GRACE_MS,
  handshakePartMs,
  listen,
  renewTls,
  settle,
} from './frontend.js';
import { HttpInfer } from './http-infer.js';
import { HUNG_UP, NO_PROXY, PARSER_STOPPED, type ParserError, parserProblem } from './http-problem.js';
import { FrontendRequest } from './http-request.js';
import { HttpRoutes } from './http-routes.js';
import { HttpSite } from './http-site.js';
import { refusalText, takeOver } from './last-refusal.js';
import { Pipelining } from './pipelining.js';
import type { CutOff } from './slow-clients.js';
import { TokenCheck } from './token.js';
import { TurnedAway } from './turned-away.js';

export interface HttpFrontendOptions extends FrontendOptions {
  /**
   * A client must have sent its headers within this, and its body, for which it has more time the more has come.
   * Otherwise it is answered 408 and cut off.
   */
  readonly receiveTimeoutMs?: number;
  /** A client must have read its answer within this, and has more time the longer the answer. */
  readonly sendTimeoutMs?: number;
  /** How long a connection may be idle between two requests. */
  readonly idleTimeoutMs?: number;
}

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
  options: HttpFrontendOptions,
  cutOff?: CutOff,
  turnedAway = new TurnedAway(),
): Promise<Frontend> {
  const { receiveTimeoutMs = 30_000, sendTimeoutMs = 30_000, idleTimeoutMs = 75_000 } = options;
  const settings = settle(options);
  const catalog = new Catalog(service, settings);
  const arrivals = new Arrivals(() => service.nowNs());
  const timeouts = { receiveTimeoutMs, sendTimeoutMs, idleTimeoutMs };
  const site = new HttpSite(service, settings, timeouts, cutOff, turnedAway);
  const infer = new HttpInfer(service, catalog, site);
  const routes = new HttpRoutes(site, catalog, infer, arrivals, new TokenCheck(settings.token));
  const server = newServer(settings, receiveTimeoutMs, idleTimeoutMs);
  // A client that is done sending still gets its answers. Node's types leave this property out.
  Object.assign(server, { httpAllowHalfOpen: true });
  const pipelining = new Pipelining(site, routes);
  server.on(settings.tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
    // With TLS, too; but not before the handshake, where nothing can follow.
    socket.allowHalfOpen = true;
    pipelining.open(socket);
  });
  const { budget, refusals } = site;
  const forTransport =
    settings.tls === null
      ? { farewell: refusalText, firstRecordMs: null }
      : { farewell: null, firstRecordMs: handshakePartMs(settings) };
  gateConnections(server, { budget, refusals, turnedAway, ...forTransport });
  server.on('request', (request, response) => pipelining.take(request, response));
  server.on('checkContinue', (request, response) => {
    request.asksFirst = true;
    pipelining.take(request, response);
  });
  // What else a client may expect does not matter.
  server.on('checkExpectation', (request, response) => pipelining.take(request, response));
  server.on('connect', (_request, socket) => {
    takeOver(socket as Socket);
    pipelining.broken(socket as Socket, NO_PROXY);
  });
  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === PARSER_STOPPED) {
      pipelining.stopped(socket as Socket, error);
      return;
    }
    const problem = parserProblem(error);
    if (problem === null || socket.destroyed) {
      socket.destroy();
      return;
    }
    if (problem.kind === 'tooSlow') cutOff?.((socket as Socket).remoteAddress ?? 'unknown', problem.message);
    if (error.code === HUNG_UP) pipelining.hungUp(socket as Socket, problem);
    else pipelining.broken(socket as Socket, problem);
  });
  const connections = new Connections(server);
  server.on('close', () => arrivals.close());
  const port = await listen(server, 'HTTP', settings);
  return {
    port,
    close: (graceful) => close(server, site, connections, graceful),
    renew: (tls) => renewTls(server, tls),
  };
}

/**
 * How long a server that closes goes on listening: a request that is on its way is answered, and its connection ends
 * with that, where a closed one would reset it.
 */
const LAST_CALL_MS = 250;

type FrontendServer = Server<typeof FrontendRequest>;

function newServer(
  settings: FrontendSettings,
  receiveTimeoutMs: number,
  idleTimeoutMs: number,
): FrontendServer {
  const options = {
    IncomingMessage: FrontendRequest,
    headersTimeout: receiveTimeoutMs,
    // Bodies have limits of their own.
    requestTimeout: 0,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: Math.ceil(receiveTimeoutMs / 10),
    // Looked at with the rest of a request, to be refused with words.
    requireHostHeader: false,
  };
  const { tls } = settings;
  if (tls === null) return createServer(options);
  return createTlsServer({ ...options, ...tls, handshakeTimeout: handshakePartMs(settings) });
}

async function close(
  server: FrontendServer,
  site: HttpSite,
  connections: Connections,
  graceful: boolean,
): Promise<void> {
  site.isClosing = true;
  if (graceful && connections.isAny)
    await new Promise((resolve) => setTimeout(() => setImmediate(resolve), LAST_CALL_MS));
  await new Promise<void>((resolve) => {
    // Connections become idle one by one, as their last request is answered. What has come meanwhile is read first.
    const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), 20);
    const giveUp = setTimeout(() => connections.destroyAll(), GRACE_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(giveUp);
      resolve();
    });
    if (graceful) connections.destroySilent();
    else connections.destroyAll();
  });
  await site.close();
}
