import { type AddressInfo, createServer } from 'node:net';
import type { Logger } from 'pino';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { checkPorts, hintAtHost } from '../../src/cli/listening.js';

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['127.0.0.1', '0.0.0.0'],
])('a port of %s is refused where something listens on %s', async (host, other) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, other, resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(checkPorts(host, { 'http-port': port, 'grpc-port': 0 })).rejects.toMatchObject({
    code: 'E_LISTEN',
    message: `--http-port ${port}: cannot listen on ${host}:${port}: address already in use; end what listens there, or choose another port`,
  });
});

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
    expect(said(host, null)).toEqual([expect.stringMatching(`^warn anyone who can reach ${host} can use`)]);
  expect(said('0.0.0.0', 's3cret')).toEqual([]);
});

it('says in a container how clients outside it reach the server', () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.0.0.1');
  for (const host of ['127.0.0.1', '::1', 'localhost'])
    expect(said(host, null)).toEqual([
      `only clients in this container can reach ${host}: add --host 0.0.0.0 to serve others`,
    ]);
});
