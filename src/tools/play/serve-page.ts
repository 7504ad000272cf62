import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EscapementError } from '../../base/errors.js';

const HOST = '127.0.0.1';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // The rest of the policy is in the page itself.
  'content-security-policy': "frame-ancestors 'none'",
};

/** A page that this machine serves to itself. */
interface ServedPage {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves one page at `/`, on the loopback interface only. Throws `E_LISTEN`. */
export async function servePage(page: string, port: number): Promise<ServedPage> {
  const server = createServer((request, response) => {
    const { port: own } = server.address() as AddressInfo;
    // Another name for this address may belong to a site that wants to read the experiment.
    const isOurs = [`${HOST}:${own}`, `localhost:${own}`].includes(request.headers.host ?? '');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isOurs || !isRead || request.url !== '/') response.writeHead(isOurs && !isRead ? 405 : 404).end();
    else response.writeHead(200, HEADERS).end(page);
  });
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
  } catch (error) {
    throw new EscapementError('E_LISTEN', (error as Error).message, { flag: `--port ${port}` });
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
