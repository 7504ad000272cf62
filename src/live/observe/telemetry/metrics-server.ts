import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { EscapementError } from '../../../base/errors.js';
import { API_ERRORS, ApiError } from '../../frontend/api-error.js';
import { checkToken } from '../../frontend/site.js';
import { checkIdentity, type ServerTls } from '../../wire/credentials.js';
import { GuardedPort, peerOf } from '../../wire/guarded-port.js';
import { renewTls, type ServedPort } from '../../wire/listener.js';
import { json, type Reply, type Route, text } from './route.js';

/** Limit on connections: scrapes come a few times a minute, and no monitoring system needs more. */
const MOST_CONNECTIONS = 64;

interface MetricsServerOptions {
  readonly registry: Registry;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Status for `/healthz`. */
  readonly healthy: () => boolean;
  /** Further routes: a controller's status and page. */
  readonly routes?: () => readonly Route[];
  /** Token required for everything except `/healthz` and public routes; null or absent: none. */
  readonly token?: string | null;
  /** Null or absent: no encryption. */
  readonly tls?: ServerTls | null;
  /** Called with the client, e.g. `10.0.0.5`, of a connection closed because there were too many. */
  readonly overfilled?: (client: string) => void;
}

/**
 * Serves `GET /metrics` in Prometheus' text format, `GET /healthz`: 200 or 503, and further routes. Token and TLS are
 * those of the process's other ports; health needs no token there either. Throws `E_LISTEN`.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<ServedPort> {
  const own = ownRoutes(options);
  const answering = new WeakSet<Socket>();
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (socket.destroyed) return;
    // Monitoring systems wait for their answers. This thread schedules, too: no client may send it thousands of
    // requests at once.
    if (answering.has(socket)) {
      socket.destroy();
      return;
    }
    answering.add(socket);
    const peer = peerOf(socket);
    port.doubt(peer);
    response.once('close', () => {
      answering.delete(socket);
      port.doubt(peer);
    });
    answer(request, response, {
      routes: [...own, ...(options.routes?.() ?? [])],
      token: options.token ?? null,
      admitted: () => port.prove(peer),
    }).catch((error: Error) => {
      // A metric that cannot be computed must not stop the process.
      const kind = error instanceof ApiError ? error.kind : 'failed';
      if (kind === 'unauthenticated') response.setHeader('www-authenticate', 'Bearer');
      send(response, json(API_ERRORS[kind].http, { error: error.message }));
    });
  };
  const { tls = null } = options;
  if (tls !== null) checkIdentity(tls, 'the certificate and key of the server');
  const server = tls === null ? createServer(respond) : createTlsServer(tls, respond);
  // No request needs a body: a client that asks before sending one gets the answer at once.
  server.on('checkContinue', respond);
  const port = new GuardedPort(server, MOST_CONNECTIONS, options.overfilled);
  return {
    port: await listen(port, options),
    close: async () => {
      port.stopListening();
      port.cut();
    },
    renew: (tls) => renewTls(server, tls),
  };
}

function ownRoutes({ registry, healthy }: MetricsServerOptions): Route[] {
  return [
    {
      path: '/metrics',
      answer: async () => ({
        status: 200,
        contentType: registry.contentType,
        body: await registry.metrics(),
      }),
    },
    {
      path: '/healthz',
      isPublic: true,
      answer: () => (healthy() ? text(200, 'ok') : text(503, 'not ready')),
    },
  ];
}

interface Answering {
  readonly routes: readonly Route[];
  readonly token: string | null;
  /** Called if the client asks for something that requires the token. */
  readonly admitted: () => void;
}

/** Rejects with an `ApiError` if the client lacks the token, and with what the route throws. */
async function answer(
  { method, url = '', headers }: IncomingMessage,
  response: ServerResponse,
  { routes, token, admitted }: Answering,
): Promise<void> {
  const [path, query] = url.split('?');
  const route = routes.find((each) => each.path === path);
  // Public content does not protect a connection from eviction: a stranger may ask for it and not read the answer.
  if (route?.isPublic !== true) {
    checkToken(token, headers.authorization);
    admitted();
  }
  if (route === undefined) {
    const paths = routes.map((each) => each.path).join(', ');
    send(response, text(404, `this port serves only ${paths}; for /status ask the controller`));
  } else if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(response, text(405, 'only GET'));
  } else {
    send(response, await route.answer({ query: new URLSearchParams(query) }));
  }
}

function send(response: ServerResponse, { status, contentType, headers = {}, body }: Reply): void {
  response.writeHead(status, { 'content-type': contentType, ...headers });
  response.end(body);
}

async function listen(guarded: GuardedPort, { host, port }: MetricsServerOptions): Promise<number> {
  try {
    return await guarded.listen(host, port);
  } catch (error) {
    const what = `metrics cannot be served: ${(error as Error).message}; choose another --metrics-port`;
    throw new EscapementError('E_LISTEN', what);
  }
}
