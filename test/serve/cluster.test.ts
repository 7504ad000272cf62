import { expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import { LocalLink } from '../../src/live/controller/link/worker-link.js';
import { startMachine } from '../../src/live/worker/local-machine.js';
import { type ClusterObserver, startCluster } from '../../src/serve/cluster.js';
import { PAGE_BYTES, simulated, smallModels } from './fixtures.js';

const SETTINGS = {
  policy: { kind: 'fifo', options: { maxDelay: 0, maxBatch: 4 } },
  sloNs: NS_PER_S,
  admission: 'none',
} as const;

async function link() {
  const machine = await startMachine({
    devices: simulated(1, 0),
    models: smallModels(1, 0),
    pages: 6,
    pageBytes: PAGE_BYTES,
  });
  return { machine, link: new LocalLink(machine) };
}

/** Notes what it is notified of. */
function noting(name: string, notes: string[]): ClusterObserver {
  return {
    run: { answered: () => notes.push(`${name} answered`), completed: () => {} },
    events: { gpuUp: (gpu) => notes.push(`${name} gpu ${gpu}`) },
    started: () => void notes.push(`${name} started`),
    ending: async () => void notes.push(`${name} ending`),
    ended: async (digest) => void notes.push(`${name} ended ${digest.length}`),
  };
}

it('notifies all observers in their order, from the start to the end', async () => {
  const notes: string[] = [];
  const { machine, link: local } = await link();
  const cluster = await startCluster({ ...SETTINGS, links: [local] }, () => ({
    first: noting('first', notes),
    none: null,
    second: noting('second', notes),
  }));
  await new Promise<void>((resolve) => {
    const inputs = [new Uint8Array(8)];
    cluster.controller.infer({ model: 0, user: 0, sloNs: NS_PER_S, inputs, done: () => resolve() });
  });
  await Promise.all([cluster.close(NS_PER_S), cluster.close()]);
  const both = (what: string) => [`first ${what}`, `second ${what}`];
  expect(notes).toEqual(['gpu 0', 'started', 'answered', 'ending', 'ended 16'].flatMap(both));
  expect(machine.executors.flatMap(({ threads }) => threads)).toEqual([]);
});

it.each([
  [
    'cannot be made',
    () => {
      throw new Error('no place for it');
    },
  ],
  [
    'cannot start',
    () => ({
      bad: {
        started: () => {
          throw new Error('no place for it');
        },
      },
    }),
  ],
])('ends its workers when an observer %s', async (_, observe) => {
  const { machine, link: local } = await link();
  const cluster = startCluster({ ...SETTINGS, links: [local] }, observe);
  await expect(cluster).rejects.toThrow('no place for it');
  expect(machine.executors.flatMap(({ threads }) => threads)).toEqual([]);
});
