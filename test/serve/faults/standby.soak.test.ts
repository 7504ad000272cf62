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

it('two controllers that start again together settle on one', { timeout: 600_000 }, async () => {
  const pair = await new Pair().start();
  const clients = pair.clients();
  await clients.someMore(50);
  for (let i = 0; i < 5; i++) {
    await Promise.all(pair.controllers.map((controller) => controller.kill('SIGKILL')));
    await Promise.all([pair.startController(0), pair.startController(1)]);
    await clients.someMore(50);
    await pair.settled();
  }
  await judgeAll(clients);
});

it('a controller cut off from its workers gives way to the one that reaches them', {
  timeout: 600_000,
}, async () => {
  const pair = await new Pair().start();
  await pair.standsBy(1);
  const clients = pair.clients();
  await clients.someMore(50);
  for (const link of pair.links[0]) link.weather.hole = 'both';
  await pair.drives(1);
  await clients.someMore(50);
  for (const link of pair.links[0]) link.clear();
  await pair.standsBy(0);
  await clients.someMore(50);
  expect(await pair.isReady(1)).toBe(true);
  await judgeAll(clients);
});

it('a standby leaves the workers alone while the active controller has one of them', {
  timeout: 600_000,
}, async () => {
  const pair = await new Pair().start();
  await pair.standsBy(1);
  const clients = pair.clients();
  await clients.someMore(50);
  pair.links[0][0].weather.hole = 'both';
  await sleep(3000);
  await clients.someMore(50);
  expect(await pair.isReady(0)).toBe(true);
  expect(await pair.isReady(1)).toBe(false);
  pair.links[0][0].clear();
  await clients.someMore(50);
  await judgeAll(clients);
});

it('two controllers that each drive a part heal when they see each other', { timeout: 600_000 }, async () => {
  const pair = await new Pair().start();
  await pair.standsBy(1);
  const clients = pair.clients();
  await clients.someMore(50);
  // Each reaches one worker only.
  pair.links[0][1].weather.hole = 'both';
  pair.links[1][0].weather.hole = 'both';
  await pair.drives(1);
  expect(await pair.isReady(0)).toBe(true);
  await clients.someMore(100);
  pair.links[0][1].clear();
  pair.links[1][0].clear();
  await pair.settled();
  await clients.someMore(50);
  await judgeAll(clients);
});
