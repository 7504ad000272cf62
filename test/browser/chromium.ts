import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Debian's. */
export const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
];

export const HAS_CHROMIUM = existsSync(CHROMIUM);

/**
 * Opens `/` of a site in Chromium and returns what the page sends by POST, as JSON, to `/result`. `site`: the text of each
 * path. Rejects where Chromium ends before.
 */
export async function openInChromium(site: Readonly<Record<string, string>>): Promise<unknown> {
  const server = createServer();
  const sent = new Promise<unknown>((resolve, reject) => {
    server.on('request', (request, response) => {
      if (request.method === 'POST') text(request).then((body) => resolve(JSON.parse(body)), reject);
      const path = request.url ?? '/';
      const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.writeHead(path in site ? 200 : 404, { 'content-type': `${type}; charset=utf-8` });
      response.end(site[path]);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const chromium = startChromium(`http://127.0.0.1:${port}/`);
  try {
    return await Promise.race([sent, chromium.ended]);
  } finally {
    chromium.kill();
    server.closeAllConnections();
    server.close();
  }
}

function startChromium(address: string) {
  const profile = `--user-data-dir=${mkdtempSync(join(tmpdir(), 'escapement-'))}`;
  const child = spawn(CHROMIUM, [...FLAGS, profile, address], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stderr.on('data', (piece) => {
    said = (said + piece).slice(-5000);
  });
  const ended = new Promise<never>((_, reject) => {
    child.on('error', reject);
    child.on('close', (status) => reject(new Error(`chromium ended with ${status}: ${said}`)));
  });
  ended.catch(() => {});
  return {
    ended,
    /** Its processes are a group of their own. */
    kill: () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    },
  };
}
