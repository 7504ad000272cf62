import type { Scenario } from '../play.js';

/** What happens to processes of workers, besides what chaos draws. */
export const WORKER_FAULTS: readonly Scenario[] = [
  {
    name: 'a worker is killed, and comes back',
    inject: async (rig, clients) => {
      await rig.workers[0].kill('SIGKILL');
      await clients.someMore(50);
      await rig.restart(0);
    },
  },
  {
    name: 'a worker is killed, and comes back at another port',
    inject: async (rig, clients) => {
      await rig.workers[0].kill('SIGKILL');
      await clients.someMore(20);
      await rig.restart(0, { elsewhere: true });
    },
  },
  {
    name: 'a worker comes back without one of the models, and then with it',
    inject: async (rig, clients) => {
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0, { device: [...rig.device.slice(0, 2), '--copies', '2'] });
      await rig.allUp();
      await clients.someMore(30);
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0);
    },
  },
];
