import type { Registry } from 'prom-client';
import type { ServerSettings } from '../../../src/config/server-settings.js';
import { Bursts } from '../../../src/live/bursts.js';
import { RemoteLink } from '../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../src/live/controller/link/remote-links.js';
import { ALL_MODELS } from '../../../src/serve/deployment-options.js';
import { type Server, startServer } from '../../../src/serve/server.js';
import type { ServerOptions } from '../../../src/serve/server-options.js';
import { type ControllerScenario, DRAIN_NS, type Scenario } from '../scenario/scenario.js';
import type { SimProcess } from '../world/index.js';
import { settingsOf } from './server-settings.js';
import { REGISTRATION_PORT, WORKER_PORT } from './worker-process.js';

const MOST_GPUS = 64;
const E_HUNG_STATUS = 50;

interface ControllerOptions {
  readonly process: SimProcess;
  readonly controller: ControllerScenario;
  readonly scenario: Scenario;
  readonly runtime: ServerSettings['runtime'];
  readonly registry: Registry;
}

/** What `escapement controller` does. */
export async function startController(options: ControllerOptions): Promise<Server> {
  const { process, controller, scenario, registry } = options;
  const { world, log } = process;
  const { cluster } = scenario;
  const registers = cluster.joining === 'registers';
  const hung = (what: string) => {
    log.fatal(`${what}; the server ends so that its supervisor restarts it`);
    process.exit(E_HUNG_STATUS);
  };
  const bursts = new Bursts(world.time);
  const remote = new RemoteLinks({ world, isStandby: controller.isStandby });
  const connect = (address: string, instance: string, complain: (line: string) => void) =>
    new RemoteLink({ address, ...(instance === '' ? {} : { instance }), log: complain }, remote);
  const joining: ServerOptions['joining'] = {
    host: '0.0.0.0',
    port: REGISTRATION_PORT,
    maxGpus: MOST_GPUS,
    newLink: ({ address, instance }, complain) => connect(address, instance, complain),
  };
  return startServer({
    world,
    registry,
    links: registers
      ? []
      : cluster.machines.map(({ name }) =>
          connect(`${name}:${WORKER_PORT}`, '', (what) =>
            bursts.say(name, `worker ${name}: ${what}`, (line) => log.warn(line)),
          ),
        ),
    // Kinds that are not there at the start could not come later.
    minWorkers: cluster.machines.some(({ kind }) => kind !== undefined) ? cluster.machines.length : 1,
    ...(registers ? { joining } : {}),
    settings: settingsOf(cluster, options.runtime),
    host: '0.0.0.0',
    httpPort: 80,
    grpcPort: null,
    metricsPort: null,
    frontend: {},
    frontends: 1,
    deployment: { ...ALL_MODELS, control: cluster.control, names: ['*'] },
    journal: controller.hasJournal ? 'journal' : null,
    journalKeepBytes: null,
    serverVersion: 'swarm',
    log,
    hung,
  });
}

/** Answers what it has, for so long at most. */
export function stopController(server: Server): Promise<void> {
  return server.close(DRAIN_NS, 0, 'SIGTERM');
}
