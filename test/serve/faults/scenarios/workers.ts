import { expect } from 'vitest';
import { sleep } from '../clients/counting-clients.js';
import { NO_WORKER, type Scenario } from '../play.js';
import type { Rig } from '../rig.js';

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
    name: 'a worker is killed as soon as it is up, three times',
    inject: async (rig, clients) => {
      for (let i = 0; i < 3; i++) {
        await rig.workers[1].kill('SIGKILL');
        await rig.restart(1);
        await rig.allUp();
      }
      await clients.someMore(20);
    },
  },
  {
    name: 'workers are replaced one after the other',
    inject: async (rig, clients) => {
      for (const index of rig.workers.keys()) {
        expect(await rig.workers[index].kill('SIGTERM')).toBe(0);
        await rig.restart(index);
        await rig.allUp();
        await clients.someMore(20);
      }
    },
  },
  {
    name: 'a worker is killed while it ends',
    inject: async (rig, clients) => {
      rig.workers[0].signal('SIGTERM');
      await rig.workers[0].kill('SIGKILL');
      await clients.someMore(20);
      await rig.restart(0);
    },
  },
  {
    name: 'all workers are killed, and come back',
    excuse: NO_WORKER,
    inject: async (rig) => {
      await Promise.all(rig.workers.map((worker) => worker.kill('SIGKILL')));
      await Promise.all(rig.workers.map((_, index) => rig.restart(index)));
    },
  },
  {
    name: 'a worker is frozen as long as it takes to count as lost',
    inject: (rig) => freeze(rig, [1], 1000),
  },
  { name: 'all workers are frozen for 2 s', excuse: NO_WORKER, inject: (rig) => freeze(rig, [0, 1], 2000) },
  {
    name: 'a worker stutters: frozen for 0.3 s ten times',
    inject: async (rig) => {
      for (let i = 0; i < 10; i++) {
        await freeze(rig, [0], 300);
        await sleep(50);
      }
    },
  },
  {
    name: 'a worker is asked to end while the other one is frozen',
    excuse: NO_WORKER,
    inject: async (rig) => {
      rig.workers[1].signal('SIGSTOP');
      expect(await rig.workers[0].kill('SIGTERM')).toBe(0);
      rig.workers[1].signal('SIGCONT');
      await rig.restart(0);
    },
  },
  {
    name: 'the clock of a worker jumps ahead by an hour',
    inject: async (rig, clients) => {
      rig.workers[0].send({ clockMs: 3_600_000 });
      await clients.someMore(100);
    },
  },
  {
    name: 'the clock of a worker creeps: by 40 ms, every 200 ms',
    inject: async (rig) => {
      for (let i = 0; i < 10; i++) {
        rig.workers[1].send({ clockMs: 40 });
        await sleep(200);
      }
    },
  },
  {
    name: 'a worker comes back without one of the models, and then with it',
    inject: async (rig, clients) => {
      const from = rig.controller?.stderr.length;
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0, { device: [...rig.device.slice(0, 2), '--copies', '2'] });
      await rig.says(/is not taken/, from);
      await clients.someMore(30);
      await rig.workers[0].kill('SIGKILL');
      await rig.restart(0);
    },
  },
  {
    name: 'a worker gets the hang-up signal of a terminal that closes, and comes back',
    inject: async (rig, clients) => {
      expect(await rig.workers[1].kill('SIGHUP')).toBe(0);
      await clients.someMore(20);
      await rig.restart(1);
    },
  },
];

export async function freeze(rig: Rig, workers: readonly number[], ms: number): Promise<void> {
  for (const index of workers) rig.workers[index].signal('SIGSTOP');
  await sleep(ms);
  for (const index of workers) rig.workers[index].signal('SIGCONT');
}
