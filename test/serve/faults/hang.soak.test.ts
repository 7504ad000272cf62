import { expect, it } from 'vitest';
import { get, tinyProfile } from '../../cli/server-process.js';
import { sleep } from './clients/counting-clients.js';
import { faultyProcess } from './rig.js';

it('a server that was stopped for longer than a thread may hang is live at once', async () => {
  const device = ['--device', `simulated:${tinyProfile()}`];
  const server = faultyProcess([
    'serve',
    ...device,
    '--http-port',
    '0',
    '--grpc-port',
    'off',
    '--metrics-port',
    'off',
  ]);
  const { http } = await server.ready();
  server.signal('SIGSTOP');
  await sleep(11_000);
  server.signal('SIGCONT');
  for (let i = 0; i < 20; i++) {
    expect((await get(http, '/v2/health/live')).status).toBe(200);
    await sleep(50);
  }
});
