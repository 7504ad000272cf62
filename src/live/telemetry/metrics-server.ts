import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { EscapementError } from '../../core/errors.js';

/** Scrapes come a few times a minute; whoever holds more connections than this is no monitoring system. */
const MOST_CONNECTIONS = 64;
const REQUEST_TIMEOUT_MS = 5_000;

export interface MetricsServerOptions {
  readonly registry: Registry;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** What `/healthz` says. */
  readonly healthy: () => boolean;
}

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics` in Prometheus' text format, and `GET /healthz`: 200 or 503. Throws `E_LISTEN`. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    // A metric that cannot be computed must not cost the process.
    answer(request, response, options).catch((error) => send(response, 500, `${error}\n`));
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return { port, close: () => close(server) };
}

async function answer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  { registry, healthy }: MetricsServerOptions,
): Promise<void> {
  const path = url?.split('?')[0];
  if (path !== '/metrics' && path !== '/healthz') {
    send(response, 404, 'there are /metrics and /healthz\n');
  } else if (method !== 'GET' && method !== 'HEAD') {
    send(response.setHeader('allow', 'GET, HEAD'), 405, 'only GET\n');
  } else if (path === '/healthz') {
    const ok = healthy();
    send(response, ok ? 200 : 503, ok ? 'ok\n' : 'not ready\n');
  } else {
    send(response.setHeader('content-type', registry.contentType), 200, await registry.metrics());
  }
}

function send(response: ServerResponse, status: number, body: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.statusCode = status;
  response.end(body);
}

function listen(server: Server, { host, port }: MetricsServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const what = `metrics cannot be served at ${host}:${port} (${cause.message}): choose another --metrics-port`;
      reject(new EscapementError('E_LISTEN', what));
    });
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
