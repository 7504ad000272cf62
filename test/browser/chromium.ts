import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';

/** Debian's. */
export const CHROMIUM = '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

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
  const browser = await launchChromium();
  try {
    const ended = new Promise<never>((_, reject) => {
      browser.on('disconnected', () => reject(new Error('chromium ended')));
    });
    ended.catch(() => {});
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    return await Promise.race([sent, ended]);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}

/** A browser of its own, without a window. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** Opens a page in a browser of its own. `close` resolves with errors of the page, and requests to anywhere but `site`. */
export async function openPage(
  browser: Browser,
  site: string,
  path: string,
  options: BrowserContextOptions = {},
) {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on('pageerror', ({ message }) => wrong.push(message));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => {
    if (!/^(?:blob|data):/.test(request.url()) && !request.url().startsWith(site)) wrong.push(request.url());
  });
  await page.goto(`${site}${path}`, { waitUntil: 'networkidle' });
  const close = async () => {
    await context.close();
    return wrong;
  };
  return { page, close };
}
