import type { Logger } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { hintAtHost } from '../../src/cli/host-hints.js';

afterEach(() => vi.unstubAllEnvs());

/** What is said, by its level. */
function said(host: string, token: string | null): string[] {
  const lines: string[] = [];
  const log = {
    warn: (what: string) => lines.push(`warn ${what}`),
    info: (what: string) => lines.push(what),
  };
  hintAtHost(host, token, log as unknown as Logger);
  return lines;
}

it('warns once that everybody may use a server on the network without a token', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.1'])
    expect(said(host, null)).toEqual([expect.stringMatching(`^warn everybody who reaches ${host} may use`)]);
  expect(said('0.0.0.0', 's3cret')).toEqual([]);
});

it('says in a container how clients outside it reach the server', () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.0.0.1');
  for (const host of ['127.0.0.1', '::1', 'localhost'])
    expect(said(host, null)).toEqual([
      `only clients in this container reach ${host}: add --host 0.0.0.0 to serve others`,
    ]);
});
