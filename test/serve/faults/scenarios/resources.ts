import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ServerProcess } from '../../../cli/server-process.js';
import { sleep } from '../clients/counting-clients.js';
import type { Scenario } from '../play.js';

/** What a process may run out of. */
export const RESOURCE_FAULTS: readonly Scenario[] = [
  {
    name: 'a worker runs out of file descriptors while its link is cut',
    inject: async (rig, clients) => {
      const [worker] = rig.workers;
      const more = limit(worker, 'nofile', openFiles(worker));
      rig.links[0].cut();
      await clients.someMore(50);
      more();
    },
  },
  {
    name: 'the controller runs out of file descriptors while a link is cut',
    inject: async (rig, clients) => {
      const { controller } = rig;
      if (controller === null) return;
      const more = limit(controller, 'nofile', openFiles(controller));
      rig.links[1].cut();
      await clients.someMore(50);
      more();
    },
  },
  {
    name: 'the log of a worker is not read any more, and the worker has something to say',
    inject: async (rig, clients) => {
      rig.workers[0].closeOutput();
      rig.links[0].cut();
      await clients.someMore(50);
      await rig.allUp();
      if (rig.workers[0].hasEnded) throw new Error('the worker has ended');
    },
  },
];

/** They leave no journal, or no log. */
export const DISK_FAULTS: readonly Scenario[] = [
  {
    name: 'the folder of the journal goes away',
    inject: async (rig, clients) => {
      const folder = dirname(rig.journal);
      renameSync(folder, `${folder}-away`);
      await clients.someMore(100);
      renameSync(`${folder}-away`, folder);
    },
  },
  {
    name: 'the disk of the journal is full',
    inject: async (rig, clients) => {
      const { controller } = rig;
      if (controller === null) return;
      const more = limit(controller, 'fsize', 1);
      await rig.says(/cannot be written|cannot write/);
      await clients.someMore(50);
      more();
    },
  },
  {
    name: 'the journal is deleted',
    inject: async (rig, clients) => {
      rmSync(rig.journal, { force: true });
      await clients.someMore(50);
    },
  },
  {
    name: 'the log of the controller is not read any more, and it has much to say',
    inject: async (rig, clients) => {
      rig.controller?.closeOutput();
      for (let i = 0; i < 5; i++) {
        rig.links[0].cut();
        await sleep(200);
      }
      await clients.someMore(50);
    },
  },
];

function openFiles({ pid }: ServerProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Sets a limit of a running process; the returned function lifts it. */
function limit({ pid }: ServerProcess, what: string, most: number): () => void {
  const prlimit = (...options: string[]) =>
    execFileSync('prlimit', ['--pid', String(pid), ...options], { encoding: 'utf8' });
  const before = prlimit(`--${what}`, '--raw', '--noheadings', '--output', 'SOFT').trim();
  prlimit(`--${what}=${most}:`);
  return () => void prlimit(`--${what}=${before}:`);
}
