import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, isAbsolute, relative } from 'pathe';
import { compiledNextTo } from '../../base/compiled.js';
import { EscapementError, usageError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { SourceDocument } from '../../config/document.js';
import type { ReadFile } from '../../config/files-on-disk.js';
import { MOST_SETUP_BYTES, type Setup, setupToJson } from '../../play/share/address.js';

/** Element of the page that contains a setup. */
const ELEMENT = '<script type="application/json" id="setup">';

/** The playground as one HTML document that opens with a setup; null: with the built-in one. */
export function playPage(setup: Setup | null): string {
  const page = readFileSync(compiledNextTo(import.meta.url, '../../play/page.html'), 'utf8');
  // No text in the setup can close its element.
  const json = setup === null ? '' : setupToJson(setup).replaceAll('<', '\\u003c');
  return page.replace(ELEMENT, () => ELEMENT + json);
}

/**
 * An experiment with all files that it reads, for a page, which cannot read them itself. Throws `E_PLUGIN` for modules,
 * and `E_USAGE` if they exceed the limit of a page.
 */
export function setupWithFiles(
  { file, text }: Pick<SourceDocument, 'file' | 'text'>,
  overrides: readonly string[],
  read: readonly ReadFile[],
): Setup {
  const module = read.find(({ kind }) => kind === 'module');
  if (module !== undefined)
    throw new EscapementError('E_PLUGIN', 'a page cannot load modules: play with built-in policies', {
      file: module.path,
    });
  const files = read.map(({ path }) => {
    const named = isAbsolute(path) ? path : relative(dirname(file), path);
    return [named, contentOf(readFileSync(inputPath(path)))] as const;
  });
  const bytes = files.reduce((sum, [, content]) => sum + content.length, text.length);
  if (bytes > MOST_SETUP_BYTES) {
    const what = `it reads ${(bytes / 1e6).toFixed(1)} MB, and a page holds ${MOST_SETUP_BYTES / 1e6} MB: use a shorter trace`;
    throw usageError(what, { file });
  }
  return { file: basename(file), text, overrides, lanes: [[]], files: Object.fromEntries(files) };
}

/** Text stays text, which packs better. */
function contentOf(bytes: Buffer): string | Uint8Array {
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes;
}

const HOST = '127.0.0.1';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // The page itself contains the rest of the policy.
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
    // Rejects other host names, by which another site could read the experiment (DNS rebinding).
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

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const ELSEWHERE = ['xdg-open'];

/** Opens an address in the desktop's browser, if there is one; never fails. */
export function openBrowser(url: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const [program, ...args] = OPENERS[process.platform] ?? ELSEWHERE;
  if (program === 'xdg-open' && DISPLAY === undefined && WAYLAND_DISPLAY === undefined) return;
  const child = spawn(program!, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
