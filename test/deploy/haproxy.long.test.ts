import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { tempDir } from '../cli/run-cli.js';
import { ServerProcess, tinyProfile, until } from '../cli/server-process.js';
import { freePorts } from '../free-ports.js';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { noOpenssl, selfSigned } from '../self-signed.js';
import { ROOT } from '../snippets.js';

/** Debian puts it where users other than root do not look. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
const hasHaproxy = spawnSync('haproxy', ['-v'], { env: ENV }).status === 0 && !noOpenssl;

it.skipIf(!hasHaproxy)(
  `the proxy for the open internet passes clients on and keeps slow and greedy ones away${hasHaproxy ? '' : ' (skipped: haproxy is not installed)'}`,
  { timeout: 120_000 },
  async () => {
    const device = `simulated:${tinyProfile('resnet50')}`;
    const server = new ServerProcess([
      ...['serve', '--device', device, '--max-client-requests', 'off'],
      ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off'],
    ]);
    await server.ready();
    const { http, grpc } = server.log.find(({ msg }) => msg === 'listening') as {
      http: number;
      grpc: number;
    };
    const { cert, key } = selfSigned();
    const [httpPort, grpcPort] = await freePorts(2);
    const folder = tempDir();
    writeFileSync(join(folder, 'server.pem'), Buffer.concat([cert, key]));
    const config = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
      .replace('bind :8443', `bind 127.0.0.1:${httpPort}`)
      .replace('bind :8444', `bind 127.0.0.1:${grpcPort}`)
      .replaceAll('127.0.0.1:8000', `127.0.0.1:${http}`)
      .replace('127.0.0.1:8001', `127.0.0.1:${grpc}`)
      .replace('http-request 10s', 'http-request 1s');
    writeFileSync(join(folder, 'haproxy.cfg'), config);
    const proxy = spawn('haproxy', ['-f', 'haproxy.cfg', '-db'], { cwd: folder, env: ENV, stdio: 'ignore' });
    onTestFinished(() => void proxy.kill('SIGKILL'));

    const ask = (options: RequestOptions) =>
      new Promise<number>((resolve) => {
        const asked = request({ host: 'localhost', port: httpPort, ca: cert, ...options }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asked.on('error', () => resolve(0));
        asked.end();
      });
    const live = { path: '/v2/health/live' };
    await until(async () => (await ask(live)) === 200);
    const client = new GrpcClient(grpcPort, credentials.createSsl(cert));
    expect(await client.call('ServerLive', {})).toEqual({ live: true });

    expect(await ask({ ...live, method: 'POST', headers: { 'content-length': '67108865' } })).toBe(413);
    const slow = connect({ host: 'localhost', port: httpPort, ca: cert });
    slow.write('GET /v2/health/live HTTP/1.1\r\n');
    const [answer] = await once(slow, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.\d 408 /);
    // So many errors of one address in a minute.
    for (let i = 0; i < 210; i++) await ask({ path: '/no-such-path' });
    expect(await ask(live)).toBe(429);
    client.close();
  },
);
