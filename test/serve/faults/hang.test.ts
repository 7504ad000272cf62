import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../../cli/run-cli.js';
import { get, infer, tinyProfile, until } from '../../cli/server-process.js';
import { GrpcClient } from '../../live/frontend/grpc-client.js';
import { faultyProcess } from './rig.js';

// Longer than 10 s where threads share cores.
const HANGS = /^the thread that schedules has shown no sign of life for \d+ s$/;

function newServer() {
  const device = ['--device', `simulated:${tinyProfile()}`];
  return faultyProcess(['serve', ...device, '--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off']);
}

it('a server whose scheduler hangs is neither live nor ready, and is both when it goes on', async () => {
  const server = newServer();
  const { http, grpc: grpcPort } = await server.ready();
  const grpc = new GrpcClient(grpcPort as number);
  const live = () => get(http, '/v2/health/live');
  expect([await live(), await grpc.call('ServerLive', {})]).toEqual([
    { status: 200, text: '{"live":true}' },
    { live: true },
  ]);
  const again = join(tempDir(), 'again');
  server.send({ hangUntil: again });

  await until(async () => (await live()).status === 503);
  expect(JSON.parse((await live()).text)).toEqual({ live: false, error: expect.stringMatching(HANGS) });
  const ready = await get(http, '/v2/health/ready');
  expect([ready.status, JSON.parse(ready.text)]).toEqual([
    503,
    {
      ready: false,
      error: expect.stringMatching(/^the server is not ready: the thread that schedules has shown/),
    },
  ]);
  await until(async () => (await grpc.call('ServerLive', {})).live === false);
  expect(await grpc.call('ServerReady', {})).toEqual({ ready: false });
  // Rather than to wait for what may never come.
  expect(await infer(http, 'tiny')).toBe(503);

  writeFileSync(again, '');
  await until(async () => (await live()).status === 200);
  expect((await get(http, '/v2/health/ready')).status).toBe(200);
  expect(await infer(http, 'tiny')).toBe(200);
  await until(async () => (await grpc.call('ServerLive', {})).live === true);
  grpc.close();
  expect(await server.kill('SIGTERM')).toBe(0);
});
