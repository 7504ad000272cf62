import type { Registry } from 'prom-client';
import { buildPipelines, pipelinesSchema } from '../../../src/config/pipelines.js';
import type { ServerScaling } from '../../../src/config/scaled-cluster.js';
import { policySchemaWith } from '../../../src/config/schema-policy.js';
import { NO_TENANTS } from '../../../src/config/schema-senders.js';
import type { ServerSettings } from '../../../src/config/server-settings.js';
import { formatDuration } from '../../../src/config/units-text.js';
import { RemoteLink } from '../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../src/live/controller/link/remote-links.js';
import { EventLog } from '../../../src/live/observe/event-log.js';
import { SCALERS } from '../../../src/scalers/registry.js';
import { ALL_MODELS } from '../../../src/serve/deployment-options.js';
import { type Server, startServer } from '../../../src/serve/server.js';
import type { ServerOptions } from '../../../src/serve/server-options.js';
import type { ClusterScenario, PolicyScenario, TenantScenario } from '../scenario/scenario.js';
import { type ControllerScenario, DRAIN_NS, type Scenario } from '../scenario/scenario.js';
import type { SimProcess } from '../world/index.js';
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
  const events = new EventLog(log, world.time);
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
            events.say('warn', {}, `worker ${name}: ${what}`, name),
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

/** What kinds are called where machines do not say. */
const ONLY_KIND = 'gpu';

/** What a controller reads of its experiment file. */
export function settingsOf(cluster: ClusterScenario, runtime: ServerSettings['runtime']): ServerSettings {
  const { defaultSloNs: sloNs, admission, classes = [], tenants } = cluster;
  return {
    // Its models take inputs of one length.
    ...{ sloNs, admission, runtime, padding: 'batch', pipelines: pipelinesOf(cluster) },
    classes: classes.map((one) => ({ ...one, priorities: [] })),
    tenants: tenants === undefined ? NO_TENANTS : { header: 'x-tenant', list: tenants.map(tenantOf) },
    policy: policyOf(cluster.policy),
    scaling: scalingOf(cluster),
  };
}

/** As they are written in an experiment file. */
function pipelinesOf({ pipelines = [] }: ClusterScenario): ServerSettings['pipelines'] {
  const written = pipelines.map(({ name, split, steps }) => ({
    ...{ name, split },
    steps: steps.map(({ models, after, source, isDealt }, s) => ({
      id: stepId(s),
      ...(models.length === 1
        ? { model: models[0] }
        : { variants: models.map((model, v) => ({ model, accuracy: 1 - v / 10 })) }),
      ...(after.length > 0 && { after: after.map(stepId) }),
      ...(source !== null && { inputs: { input: `${stepId(source)}.output` } }),
      ...(source === null && isDealt && { inputs: { input: 'rows' } }),
      ...(isDealt && { each: 'input' }),
    })),
    outputs: Object.fromEntries(
      steps.flatMap((_, s) =>
        steps.some(({ after }) => after.includes(s)) ? [] : [[stepId(s), `${stepId(s)}.output`]],
      ),
    ),
  }));
  return written.length === 0 ? [] : buildPipelines(pipelinesSchema.parse(written) ?? [], null, () => ({}));
}

function stepId(step: number): string {
  return `step-${step}`;
}

function tenantOf({ rateRps, ...tenant }: TenantScenario) {
  return { ...tenant, rateRps: rateRps ?? Number.POSITIVE_INFINITY };
}

/** With the defaults of the options that it leaves out. */
function policyOf({ kind, options }: PolicyScenario): ServerSettings['policy'] {
  const written = Object.entries(options).map(([name, value]) => [
    name,
    value === 'auto' ? value : formatDuration(value),
  ]);
  return policySchemaWith([]).parse({ kind, ...Object.fromEntries(written) });
}

function scalingOf({ scaler, machines }: ClusterScenario): ServerScaling | null {
  const entry = SCALERS.find(({ kind }) => kind === scaler?.kind);
  if (scaler === undefined || entry === undefined) return null;
  const { intervalNs, startNs, more } = scaler;
  const options = Object.fromEntries(
    Object.entries(entry.options).map(([name, option]) => [name, option.default]),
  );
  const names = [...new Set(machines.map(({ kind }) => kind?.name ?? ONLY_KIND))];
  const gpus = (name: string) =>
    machines.reduce(
      (sum, machine) => sum + ((machine.kind?.name ?? ONLY_KIND) === name ? machine.gpus : 0),
      0,
    );
  return {
    intervalNs,
    kinds: names.map((name) => ({
      ...{ name, startNs, minLifetimeNs: 0, min: 1 },
      pricePerHour: null,
      max: gpus(name) + more,
    })),
    create: () => entry.create({ hindsight: [], hindsightNs: intervalNs }, options as never),
  };
}
