import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** A folder that is served on the loopback interface, compressed as web servers do. */
export interface ServedSite {
  readonly url: string;
  /** Bytes that each file was sent as, by its path. */
  readonly sentBytes: ReadonlyMap<string, number>;
  close(): void;
}

export async function serveSite(folder: string): Promise<ServedSite> {
  const sentBytes = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url ?? '/', 'http://site').pathname);
    const file = join(folder, normalize(path.endsWith('/') ? `${path}index.html` : path));
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    const isPacked = /\.(?:png|woff2)$/.test(file);
    const body = isPacked ? readFileSync(file) : gzipSync(readFileSync(file));
    sentBytes.set(path, body.length);
    response.writeHead(200, { 'content-type': type, ...(isPacked ? {} : { 'content-encoding': 'gzip' }) });
    response.end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sentBytes,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
