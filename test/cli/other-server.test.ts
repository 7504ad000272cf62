import { createServer, type RequestListener, Server } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

function serve(answer: RequestListener): Promise<string> {
  return listen(createServer(answer));
}

async function listen(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    if (server instanceof Server) server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As `python3 -m http.server`, which also knows no POST. */
const files: RequestListener = ({ method }, response) =>
  response.writeHead(method === 'GET' ? 404 : 501).end('<!DOCTYPE HTML>');
/** Web applications answer every path with their page. */
const page: RequestListener = (_, response) => response.writeHead(200).end('<!DOCTYPE HTML>');
const list: RequestListener = (_, response) => response.writeHead(200).end('["v2"]');

const COMMANDS: readonly [string, (url: string) => readonly string[]][] = [
  ['load', (url) => ['load', writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT), '--url', url]],
  ['profile measure', (url) => ['profile', 'measure', '--url', url]],
];

describe.each(COMMANDS)('%s says that a server does not speak the protocol', (_, args) => {
  const says = async (url: string) => {
    const { status, stdout, stderr } = await runCli(args(url));
    expect([status, stdout]).toEqual([48, '']);
    return stderr;
  };

  it('where it has no such path', async () => {
    const url = await serve(files);
    const why = 'the status is 404, not 200';
    expect(await says(url)).toBe(`escapement: E_SERVER: ${url} does not describe itself at /v2: ${why}\n`);
    expect(await says(`${url}/models/`)).toContain(`${url} does not describe itself at /models/v2: ${why}\n`);
  });

  it('where it speaks the other one', async () => {
    const http = await serve(files);
    expect(await says(http.replace('http:', 'grpc:'))).toMatch(
      /Protocol error.*; does it speak HTTP\? Then use http:\/\/\n$/,
    );
    expect(await says(await listen(createHttp2Server()))).toMatch(
      /HTTP\/1\.1.*; does it speak gRPC\? Then use grpc:\/\/\n$/,
    );
  });

  it('where it answers with a page or something else', async () => {
    expect(await says(await serve(page))).toMatch(
      /^escapement: E_SERVER: http\S+ does not describe itself at \/v2: the body is not JSON: .*<!DOCTYPE.*\n$/,
    );
    expect(await says(await serve(list))).toMatch(
      / does not describe itself at \/v2: .*not a JSON object\n$/,
    );
  });
});

describe.each(COMMANDS)('%s', (_, args) => {
  it.each([400, 503])(
    'says that a server is not ready that describes itself, with status %i',
    async (code) => {
      const url = await serve(({ url: path }, response) =>
        path === '/v2'
          ? response.writeHead(200).end('{}')
          : path === '/v2/repository/index'
            ? response.writeHead(200).end('[{ "name": "a" }]')
            : response.writeHead(code).end(),
      );
      const { stderr } = await runCli(args(url));
      expect(stderr).toBe(
        `escapement: E_SERVER: ${url} is not ready (status ${code}): wait until its models are loaded\n`,
      );
    },
  );
});
