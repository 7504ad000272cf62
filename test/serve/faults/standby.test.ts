import { expect, it } from 'vitest';
import { sleep } from './clients/counting-clients.js';
import { judgeAll, Pair } from './pair.js';

it('a standby answers when the active controller is killed, and only then', {
  timeout: 300_000,
}, async () => {
  const pair = await new Pair().start();
  await pair.standsBy(1);
  const clients = pair.clients();
  await clients.someMore(50);
  expect(await pair.isReady(0)).toBe(true);
  await pair.controllers[0].kill('SIGKILL');
  await clients.someMore(50);
  expect(await pair.isReady(1)).toBe(true);
  // What comes back does not take the workers away again.
  await pair.startController(0);
  await pair.standsBy(0);
  await clients.someMore(50);
  expect(await pair.isReady(1)).toBe(true);
  await pair.controllers[1].kill('SIGTERM');
  await clients.someMore(50);
  await judgeAll(clients);
});

it('a frozen controller that thaws finds its workers taken', { timeout: 300_000 }, async () => {
  const pair = await new Pair().start();
  await pair.standsBy(1);
  const clients = pair.clients();
  await clients.someMore(50);
  pair.controllers[0].signal('SIGSTOP');
  await clients.someMore(50);
  await sleep(5000);
  pair.controllers[0].signal('SIGCONT');
  await pair.standsBy(0);
  await clients.someMore(50);
  expect(await pair.isReady(1)).toBe(true);
  expect(pair.timesStoodBy(0)).toBe(1);
  pair.controllers[1].signal('SIGSTOP');
  await pair.drives(0);
  await clients.someMore(50);
  pair.controllers[1].signal('SIGCONT');
  await pair.standsBy(1);
  await judgeAll(clients);
});
