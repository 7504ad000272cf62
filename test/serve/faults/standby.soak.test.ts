import { expect, it } from 'vitest';
import { sleep } from './clients/counting-clients.js';
import { JoiningRig } from './joining-rig.js';

const READY = '{"ready":true}';

/** Two controllers, of which the second stands by, with two workers. */
async function started(): Promise<JoiningRig> {
  const rig = new JoiningRig();
  await rig.startController(0);
  await rig.startController(1, ['--standby']);
  for (let i = 0; i < 2; i++) await rig.startWorker();
  await rig.isReady(0);
  await rig.standsBy(1);
  return rig;
}

it('a standby answers when the active controller is killed, and only then', {
  timeout: 300_000,
}, async () => {
  const rig = await started();
  const clients = rig.clients();
  await clients.someMore(50);
  expect(await rig.health('ready', 0)).toBe(READY);
  await rig.controllers[0].kill('SIGKILL');
  await clients.someMore(50);
  expect(await rig.health('ready', 1)).toBe(READY);
  // What comes back does not take the workers away again.
  await rig.startController(0);
  await rig.standsBy(0);
  await clients.someMore(50);
  expect(await rig.health('ready', 1)).toBe(READY);
  await rig.controllers[1].kill('SIGTERM');
  await clients.someMore(50);
  await rig.judge(clients);
});

it('a frozen controller that thaws finds its workers taken', { timeout: 300_000 }, async () => {
  const rig = await started();
  const clients = rig.clients();
  await clients.someMore(50);
  rig.controllers[0].signal('SIGSTOP');
  await clients.someMore(50);
  await sleep(5000);
  rig.controllers[0].signal('SIGCONT');
  await rig.standsBy(0);
  await clients.someMore(50);
  expect(await rig.health('ready', 1)).toBe(READY);
  rig.controllers[1].signal('SIGSTOP');
  await rig.isReady(0);
  await clients.someMore(50);
  rig.controllers[1].signal('SIGCONT');
  await rig.standsBy(1);
  await rig.judge(clients);
});
