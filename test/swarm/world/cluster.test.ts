import { expect, it } from 'vitest';
import { readServerSettings } from '../../../src/config/server-settings.js';
import { OUTCOME_NAMES, OUTCOME_OK } from '../../../src/core/request.js';
import { RemoteLink } from '../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../src/live/controller/link/remote-links.js';
import type { InferenceAnswer } from '../../../src/live/service.js';
import { startServer } from '../../../src/serve/server.js';
import { runWorker } from '../../../src/serve/worker.js';
import { PAGE_BYTES, simulated, smallModels } from '../../serve/fixtures.js';
import { type FrontendThread, type SimMachine, type SimProcess, Simulation, threadBodies } from './index.js';

const S = 1e9;
const MODELS = smallModels(4, 1, [3, 4, 5]);
const { settings } = await readServerSettings({ file: null, environment: [], overrides: ['slo=200ms'] });

interface Cluster {
  readonly simulation: Simulation;
  readonly controller: SimProcess;
  readonly workers: readonly SimProcess[];
  readonly machines: readonly SimMachine[];
  /** What links said of their workers. */
  readonly said: readonly string[];
  /** By request. */
  readonly answers: readonly InferenceAnswer[][];
}

/** A controller, two workers with two GPUs each, and a client that asks 50 times a second. `faults` plans what goes wrong. */
async function run(
  seed: number,
  seconds: number,
  faults: (cluster: Cluster) => void = () => {},
  addresses: readonly string[] = ['two', 'three'],
) {
  const said: string[] = [];
  let frontend: FrontendThread | null = null;
  const bodies = threadBodies({
    frontend: (_, thread) => {
      frontend = thread;
    },
  });
  const simulation = new Simulation({ seed, bodies });
  const machines = ['one', 'two', 'three'].map((name, i) => simulation.machine(name, { driftPpm: 7 * i }));
  const workers = machines.slice(1).map((machine) => machine.process(`worker-${machine.name}`, work));
  const controller = machines[0].process('controller', (process) => serve(process, addresses, said));
  for (const process of [...workers, controller]) process.start();
  const answers: InferenceAnswer[][] = [];
  const ask = () => {
    simulation.at(simulation.nowNs + S / 50, ask);
    const thread = frontend as FrontendThread | null;
    thread?.loop.receive(20_000, () => {
      const entry = thread.service.state.entries[answers.length % MODELS.length];
      const heard: InferenceAnswer[] = [];
      answers.push(heard);
      const inputs = [new Uint8Array(8)];
      const done = (answer: InferenceAnswer) => heard.push(answer);
      thread.service.infer({ model: entry.index, user: 0, sloNs: 0.2 * S, inputs, done });
    });
  };
  simulation.at(S, ask);
  const cluster = { simulation, controller, workers, machines, answers, said };
  faults(cluster);
  await simulation.run(seconds * S);
  return cluster;
}

async function work({ world, log }: SimProcess): Promise<void> {
  const machine = { devices: simulated(2, 1), models: MODELS, pages: 6, pageBytes: PAGE_BYTES };
  await runWorker({
    world,
    log,
    machine,
    host: '0.0.0.0',
    port: 7100,
    metricsPort: null,
    keptBytes: 0,
    controllers: [],
  });
}

async function serve({ world, log }: SimProcess, hosts: readonly string[], said: string[]): Promise<void> {
  const remote = new RemoteLinks({ world });
  const links = hosts.map(
    (name) => new RemoteLink({ address: `${name}:7100`, log: (line) => said.push(line) }, remote),
  );
  await startServer({
    ...{ world, log, links, settings, host: '0.0.0.0', httpPort: 80, grpcPort: null, metricsPort: null },
    ...{ frontends: 1, frontend: { token: null, tls: null }, journal: '/run.journal' },
    ...{ minWorkers: 2, journalKeepBytes: null, serverVersion: '1.2.3' },
  });
}

/** How often each outcome came; the last requests may be under way. */
function outcomes({ answers }: Cluster): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [first] of answers.slice(0, -20)) {
    const name = first === undefined ? 'none' : OUTCOME_NAMES[first.outcome];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

it('runs a cluster: each request gets its answer', async () => {
  const cluster = await run(1, 10);
  expect(outcomes(cluster)).toEqual({ [OUTCOME_NAMES[OUTCOME_OK]]: 9 * 50 - 20 });
  expect(cluster.simulation.machines.get('one')?.disk.read('/run.journal')).toMatch(/^\{.*\n/);
});

it('does the same for the same seed, whatever goes wrong', async () => {
  const faults = ({ simulation, controller, workers, machines: [one, two, three] }: Cluster) => {
    simulation.at(2 * S, () => workers[0].crash());
    simulation.at(3 * S, () => workers[0].start());
    simulation.at(4 * S, () => simulation.network.path(one, three).cut());
    simulation.at(6 * S, () => simulation.network.path(one, three).heal());
    simulation.at(7 * S, () => controller.threadsOf('frontend')[0].die(new Error('a fault of the test')));
    simulation.at(8 * S, () => workers[1].freeze());
    simulation.at(9.5 * S, () => workers[1].thaw());
    simulation.at(11 * S, () => simulation.network.reset(one, two));
    simulation.at(12 * S, () => workers[0].threadsOf('executor')[0].die(new Error('a fault of the test')));
    simulation.at(13 * S, () => {
      workers[0].device(0).slowness = 3;
      workers[1].device(1).hangs = true;
    });
    simulation.at(13.2 * S, () => {
      workers[1].device(1).hangs = false;
    });
  };
  const [first, again, other] = [
    await run(2, 15, faults),
    await run(2, 15, faults),
    await run(3, 15, faults),
  ];
  expect(again.simulation.digest).toBe(first.simulation.digest);
  expect(other.simulation.digest).not.toBe(first.simulation.digest);
  expect(Math.max(...first.answers.map(({ length }) => length))).toBe(1);
  expect(outcomes(first).ok).toBeGreaterThan(0.8 * first.answers.length);
});

it('uses a worker that it is given twice once, and says so once', async () => {
  const cluster = await run(4, 70, () => {}, ['two', '10.0.0.2', 'three']);
  expect(outcomes(cluster)).toEqual({ [OUTCOME_NAMES[OUTCOME_OK]]: cluster.answers.length - 20 });
  expect(cluster.answers.length).toBeGreaterThan(3000);
  const said = cluster.said.filter((line) => !line.startsWith('cannot be reached'));
  expect(said).toEqual(['the worker is the one at 10.0.0.2:7100, and is used there']);
});
