import { describe, expect, it } from 'vitest';
import { type CountingClients, sleep } from './counting-clients.js';
import { Rig } from './rig.js';

/** Longer than any of these faults, with the time to notice it. */
const SLO_MS = 10_000;

interface Fault {
  readonly name: string;
  /** For a moment there is no worker: requests that come then are refused for that reason. */
  readonly isOutage?: boolean;
  /** Makes the fault, and ends it. */
  readonly inject: (rig: Rig, clients: CountingClients) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'a worker is killed, and comes back',
    inject: async (rig, clients) => {
      await rig.workers[0].kill('SIGKILL');
      await clients.someMore(50);
      await rig.restart(0);
    },
  },
  {
    name: 'a worker is asked to end, and comes back',
    inject: async (rig, clients) => {
      expect(await rig.workers[1].kill('SIGTERM')).toBe(0);
      await clients.someMore(50);
      await rig.restart(1);
    },
  },
  { name: 'a worker is frozen for 0.5 s', inject: (rig) => freeze(rig, [0], 500) },
  { name: 'a worker is frozen for 3 s', inject: (rig) => freeze(rig, [0], 3000) },
  { name: 'all workers are frozen for 2 s', isOutage: true, inject: (rig) => freeze(rig, [0, 1], 2000) },
  {
    name: 'the controller is frozen for 2 s',
    inject: async (rig) => {
      rig.controller?.signal('SIGSTOP');
      await sleep(2000);
      rig.controller?.signal('SIGCONT');
    },
  },
  {
    name: 'a link is cut ten times',
    inject: async (rig) => {
      for (let i = 0; i < 10; i++) {
        rig.links[1].cut();
        await sleep(200);
      }
    },
  },
  {
    name: 'all links are cut at once',
    isOutage: true,
    inject: async (rig) => {
      for (const link of rig.links) link.cut();
    },
  },
  {
    name: 'a link swallows everything for 3 s',
    inject: async (rig) => {
      rig.links[0].weather.hole = true;
      await sleep(3000);
      rig.links[0].clear();
    },
  },
  ...[20, 200].map((delayMs) => ({
    name: `a link is late by ${delayMs} ms for 3 s`,
    inject: async (rig: Rig) => {
      rig.links[0].weather.delayMs = delayMs;
      await sleep(3000);
      rig.links[0].clear();
    },
  })),
  ...[3, 10, 40].map((every) => ({
    name: `a link corrupts one of ${every} chunks`,
    inject: async (rig: Rig) => {
      const { flipped } = rig.links[0];
      rig.links[0].weather.corruptEvery = every;
      while (rig.links[0].flipped < flipped + 12) await sleep(20);
      rig.links[0].clear();
    },
  })),
];

describe.each([
  ['clockwork', []],
  ['escapement', ['policy.kind=escapement']],
])('under %s', (_, settings) => {
  it('no request fails, is lost or answered wrongly, whatever happens to a worker or a link', {
    timeout: 900_000,
  }, async () => {
    const rig = await new Rig(settings).start(2);
    await rig.allUp();
    const clients = rig.clients(SLO_MS);
    for (const { name, isOutage = false, inject } of FAULTS) {
      await clients.someMore(30);
      await inject(rig, clients);
      await rig.allUp();
      await clients.someMore(30);
      const { lost, broken, wrong, failures } = clients.tally;
      if (isOutage)
        for (const said of failures.keys()) if (/^503 .*no worker is up/.test(said)) failures.delete(said);
      expect({ name, lost, broken, wrong, failures: [...failures] }).toEqual({
        name,
        lost: 0,
        broken: 0,
        wrong: [],
        failures: [],
      });
    }
    await clients.stop();
    expect(await rig.controller?.kill('SIGTERM')).toBe(0);
    expect(plainLines(rig)).toEqual([]);
  });
});

it('a controller starts while a worker is away, and uses it when it comes', async () => {
  const rig = await new Rig().start(2);
  await rig.workers[0].kill('SIGKILL');
  await rig.controller?.kill('SIGKILL');
  await rig.startController();
  const clients = rig.clients(SLO_MS);
  await clients.someMore(50);
  await rig.restart(0);
  await rig.allUp();
  await rig.workers[1].kill('SIGKILL');
  await clients.someMore(50);
  const { lost, wrong, failures } = await clients.stop();
  expect({ lost, wrong, failures: [...failures] }).toEqual({ lost: 0, wrong: [], failures: [] });
});

it('a killed controller breaks only what it was at', async () => {
  const rig = await new Rig().start(2);
  const clients = rig.clients(SLO_MS);
  await clients.someMore(50);
  await rig.controller?.kill('SIGKILL');
  await rig.startController();
  await clients.someMore(50);
  const { lost, wrong, failures } = await clients.stop();
  expect({ lost, wrong, failures: [...failures] }).toEqual({ lost: 0, wrong: [], failures: [] });
});

it('a worker ends in its time, though its controller hangs', async () => {
  const rig = await new Rig().start(1);
  await rig.allUp();
  rig.controller?.signal('SIGSTOP');
  const begin = performance.now();
  expect(await rig.workers[0].kill('SIGTERM')).toBe(0);
  expect(performance.now() - begin).toBeLessThan(15_000);
  rig.controller?.signal('SIGCONT');
});

async function freeze(rig: Rig, workers: readonly number[], ms: number): Promise<void> {
  for (const index of workers) rig.workers[index].signal('SIGSTOP');
  await sleep(ms);
  for (const index of workers) rig.workers[index].signal('SIGCONT');
}

function plainLines(rig: Rig): string[] {
  const lines = rig.controller?.stderr.trimEnd().split('\n') ?? [];
  return lines.filter((line) => !line.startsWith('{'));
}
