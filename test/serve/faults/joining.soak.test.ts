import { expect, it } from 'vitest';
import { JoiningRig } from './joining-rig.js';

it('the standby has the workers that registered when the active controller is killed, and takes others on', {
  timeout: 300_000,
}, async () => {
  const rig = new JoiningRig();
  await rig.startController(0);
  await rig.startController(1, ['--standby']);
  await rig.startWorker();
  await rig.isReady(0);
  await rig.standsBy(1);
  const clients = rig.clients();
  await clients.someMore(30);
  await rig.startWorker();
  await rig.metric('escapement_workers_joined_total', 2, 0);
  await rig.metric('escapement_workers_joined_total', 2, 1);
  await rig.metric('escapement_gpu_up', 2, 0);
  await rig.metric('escapement_gpu_up', 0, 1);
  await rig.controllers[0].kill('SIGKILL');
  await rig.metric('escapement_gpu_up', 2, 1);
  await clients.someMore(30);
  await rig.startWorker();
  await rig.metric('escapement_gpu_up', 3, 1);
  await rig.startController(0);
  await rig.standsBy(0);
  await clients.someMore(30);
  expect(await rig.health('ready', 1)).toBe('{"ready":true}');
  await rig.judge(clients);
});
