// Entry of the child processes of a benchmark: a server, or a bare device.
import { readFileSync } from 'node:fs';
import { monotonicNs } from '../../base/clock/clock.js';
import { EscapementError } from '../../base/errors.js';
import { stream } from '../../base/random/streams.js';
import { MIB, NS_PER_S } from '../../base/units.js';
import { LocalLink } from '../../live/controller/link/worker-link.js';
import { createLog } from '../../live/observe/telemetry/log.js';
import { ModelSession } from '../../live/ort/session.js';
import { startMachine } from '../../live/worker/local-machine.js';
import { REAL_WORLD } from '../../live/world/real-world.js';
import { TensorMaker } from '../../load/tensors.js';
import { startServer } from '../../serve/server.js';
import type { Answer, DeviceModel, DeviceTrial, Order, Ports, Role } from './child-process.js';
import { TENSOR_SEED } from './subject.js';
import { UsageMeter } from './usage-meter.js';

type RoleOf<Kind> = Extract<Role, { kind: Kind }>;

const MAX_BODY_BYTES = 256 * MIB;
const meter = new UsageMeter();
let runTrial: ((seconds: number) => Promise<DeviceTrial>) | null = null;

// A terminal sends Ctrl-C to the whole group: the parent ends its children itself.
process.on('SIGINT', () => {});
// The parent has ended.
process.on('disconnect', () => process.exit());
process.on('message', async (order: Order) => {
  const tell = (answer: Answer) => process.send?.(answer);
  try {
    tell({ value: await obey(order) });
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    tell({ code: error.code, message: error.message });
  }
});

async function obey(order: Order): Promise<unknown> {
  if (order.kind === 'usage') return meter.take();
  if (order.kind === 'trial') return runTrial?.(order.seconds);
  if (order.role.kind === 'server') return openServer(order.role);
  runTrial = await openDevice(order.role);
  return undefined;
}

async function openServer({ gpu, settings }: RoleOf<'server'>): Promise<Ports> {
  const server = await startServer({
    world: REAL_WORLD,
    links: [new LocalLink(await startMachine(gpu))],
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
  const { http, grpc, metrics } = server;
  return { http: http?.port ?? 0, grpc: grpc?.port ?? 0, metrics: metrics?.port ?? 0 };
}

/**
 * A device limited only by its own speed: INFERs of full batches back to back, with inputs in memory. The model with the
 * fewest requests so far is next, so that caches are as warm as in service. A trial blocks this thread.
 */
async function openDevice({ device, models }: RoleOf<'device'>) {
  const loaded: { session: ModelSession; batchSize: number; inputs: Uint8Array[]; served: number }[] = [];
  for (const model of models) {
    const bytes = new Uint8Array(readFileSync(model.ortPath));
    const session = await ModelSession.create(bytes, model.signature, [model.batchSize], device);
    loaded.push({ session, batchSize: model.batchSize, inputs: inputsOf(model), served: 0 });
  }
  return async (seconds: number): Promise<DeviceTrial> => {
    const beginNs = monotonicNs();
    let requests = 0;
    let nowNs = beginNs;
    while (nowNs < beginNs + seconds * NS_PER_S) {
      const model = loaded.reduce((least, each) => (each.served < least.served ? each : least));
      await model.session.run(0, model.batchSize, model.inputs);
      model.served += model.batchSize;
      requests += model.batchSize;
      nowNs = monotonicNs();
    }
    return { requests, tookNs: nowNs - beginNs };
  };
}

/** Tensors of clients, repeated once per request of the batch. */
function inputsOf({ name, signature, batchSize }: DeviceModel): Uint8Array[] {
  const maker = new TensorMaker(stream(TENSOR_SEED, 'load-tensors'));
  return maker
    .inputs(name, signature.inputs)
    .map(({ data }) => Buffer.concat(Array.from({ length: batchSize }, () => data)));
}
