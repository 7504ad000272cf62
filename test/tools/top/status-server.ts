import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Answers whatever the test says to `GET /status`; it ends with the test, if not before. */
export async function statusServer(
  answer: () => { readonly status: number; readonly body: string },
  port = 0,
  tls: { readonly cert: Buffer; readonly key: Buffer } | null = null,
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const listener: RequestListener = (request, response) => {
    const { status, body } = request.url === '/status' ? answer() : { status: 404, body: 'not here' };
    response.writeHead(status, { connection: 'close' }).end(body);
  };
  const server = tls === null ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const taken = (server.address() as AddressInfo).port;
  return { url: `${tls === null ? 'http' : 'https'}://127.0.0.1:${taken}`, port: taken, close };
}
