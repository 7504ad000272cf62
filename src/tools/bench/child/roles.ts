import { invariant } from '../../../base/invariant.js';
import { MIB } from '../../../base/units.js';
import { LocalLink } from '../../../live/controller/link/local-link.js';
import { RemoteLink } from '../../../live/controller/link/remote-link.js';
import { createLog } from '../../../live/observe/telemetry/log.js';
import { serveMachine } from '../../../live/worker/endpoint/worker-endpoint.js';
import { startMachine } from '../../../live/worker/local-machine.js';
import { REAL_WORLD } from '../../../live/world/real-world.js';
import { startServer } from '../../../serve/server.js';
import type { Answer, Order, Ports, Role } from './messages.js';
import { Synthetic } from './synthetic.js';
import { UsageMeter } from './usage-meter.js';

interface Started {
  readonly ports: Ports;
  answer(order: Order): Promise<Answer>;
}

const MAX_BODY_BYTES = 256 * MIB;
const NO_PORTS: Ports = { http: 0, grpc: 0, metrics: 0, worker: 0 };

/** Starts what the role says, in this process. Throws coded errors. */
export async function play(role: Role): Promise<Started> {
  switch (role.kind) {
    case 'server':
      return { ports: await openServer(role), answer: usageOnly() };
    case 'worker':
      return { ports: await openWorker(role), answer: usageOnly() };
    case 'synthetic':
      return { ports: NO_PORTS, answer: trials(await Synthetic.load(role.spec)) };
  }
}

async function openServer({ gpu, settings }: Extract<Role, { kind: 'server' }>): Promise<Ports> {
  const link =
    typeof gpu === 'string' ? new RemoteLink({ address: gpu }) : new LocalLink(await startMachine(gpu));
  const server = await startServer({
    world: REAL_WORLD,
    links: [link],
    settings,
    host: '127.0.0.1',
    httpPort: 0,
    grpcPort: 0,
    metricsPort: 0,
    frontend: { token: null, tls: null, maxBodyBytes: MAX_BODY_BYTES, maxJsonBytes: MAX_BODY_BYTES },
    frontends: 1,
    journal: null,
    journalKeepBytes: null,
    serverVersion: 'bench',
    log: createLog('error', 'server'),
  });
  await server.started;
  const portOf = (frontend: { readonly port: number } | null) => frontend?.port ?? 0;
  return {
    http: portOf(server.http),
    grpc: portOf(server.grpc),
    metrics: portOf(server.metrics),
    worker: 0,
  };
}

async function openWorker({ machine }: Extract<Role, { kind: 'worker' }>): Promise<Ports> {
  const { port } = await serveMachine(await startMachine(machine), { port: 0 });
  return { ...NO_PORTS, worker: port };
}

function usageOnly(): Started['answer'] {
  const meter = new UsageMeter();
  return async (order) => {
    invariant(order.kind === 'usage', 'a server has no trials of its own');
    return { kind: 'usage', usage: meter.take() };
  };
}

function trials(synthetic: Synthetic): Started['answer'] {
  const meter = new UsageMeter();
  return async (order) =>
    order.kind === 'trial'
      ? { kind: 'trial', trial: await synthetic.trial(order.seconds) }
      : { kind: 'usage', usage: meter.take() };
}
