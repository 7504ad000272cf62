import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../../base/compiled.js';
import type { Route } from '../telemetry/route.js';

const FILES = {
  '/ui/': { name: 'index.html', contentType: 'text/html; charset=utf-8' },
  '/ui/page.js': { name: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  '/ui/page.css': { name: 'page.css', contentType: 'text/css; charset=utf-8' },
};

/** The page runs what this port serves, talks to this port alone, and is shown in no other page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The live page without anything of this server: everyone may read it. The files are read once. */
export function pageRoutes(): Route[] {
  return Object.entries(FILES).map(([path, { name, contentType }]) => {
    const body = readFileSync(compiledNextTo(import.meta.url, `../../../play/ui/${name}`));
    const reply = { status: 200, contentType, headers: HEADERS, body };
    return { path, method: 'GET', isPublic: true, answer: () => reply };
  });
}
