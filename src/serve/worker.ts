import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { kindOfWorker } from '../live/messages.js';
import { EventLog } from '../live/observe/event-log.js';
import { CertificateGauges } from '../live/observe/telemetry/certificates.js';
import { createRegistry, readOnScrape } from '../live/observe/telemetry/metrics.js';
import { startMetricsServer } from '../live/observe/telemetry/metrics-server.js';
import type { ClientTls, ServerTls } from '../live/wire/credentials.js';
import type { ServedPort } from '../live/wire/listener.js';
import { Registrars } from '../live/worker/endpoint/registrar.js';
import { serveMachine } from '../live/worker/endpoint/worker-endpoint.js';
import { type MachineOptions, startMachine } from '../live/worker/local-machine.js';
import type { World } from '../live/world/world.js';
import { logTurnedAway } from './server-log.js';

interface WorkerProcessOptions {
  readonly world: World;
  readonly machine: MachineOptions;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** null: no metrics. */
  readonly metricsPort: number | null;
  /** Most memory for tensors between the steps of pipelines. */
  readonly keptBytes: number;
  readonly token?: string;
  readonly tls?: ServerTls;
  readonly log: Logger;
  /** Addresses of the controllers at which it registers. */
  readonly controllers: readonly string[];
  /** HOST:PORT at which they reach it; absent: the address it connects from. */
  readonly advertised?: string;
  /** Verification of their certificates; absent: no encryption. */
  readonly controllerTls?: ClientTls;
}

interface RunningWorker {
  readonly certificates: CertificateGauges;
  /** Drains, then closes everything. */
  close(): Promise<void>;
  /** Renews the certificate for later connections, if it encrypts at all. */
  renew(tls: ServerTls): void;
  /** Sets the authority for controllers that it connects to later. */
  trust(tls: ClientTls): void;
}

/** Offers this machine's GPUs to a controller. Throws `E_DEVICE`, `E_MODEL_FILE`, `E_LISTEN` and `E_TLS`. */
export async function runWorker(options: WorkerProcessOptions): Promise<RunningWorker> {
  const { world, host, port, metricsPort, token, tls, log } = options;
  const events = new EventLog(log, world.time);
  const gpuLost = (gpu: number, reason: string) =>
    events.say('warn', { gpu }, `GPU ${gpu} is lost: ${reason}`, `GPU ${gpu}`);
  const machine = await startMachine({ ...options.machine, world, gpuLost });
  let metrics: ServedPort | null = null;
  try {
    // Process metrics cost time: without a port they are left out.
    const registry = metricsPort === null ? new Registry() : createRegistry();
    const certificates = new CertificateGauges(registry);
    readOnScrape(registry, 'escapement_gpu_memory_bytes', () => machine.memory());
    const keptMemory = { mostBytes: options.keptBytes, usedBytes: 0, totalBytes: 0 };
    readOnScrape(registry, 'escapement_kept_bytes_total', () => [[[], keptMemory.totalBytes]]);
    if (metricsPort !== null) {
      metrics = await startMetricsServer({
        registry,
        host,
        port: metricsPort,
        healthy: () => true,
        token: token ?? null,
        tls: tls ?? null,
        overfilled: (who) => logTurnedAway(events, 'metrics', who),
      });
    }
    const instance = world.newId();
    const server = await serveMachine(machine, {
      ...{ time: world.time, network: world.network },
      host,
      ...{ port, instance, keptMemory },
      ...(token === undefined ? {} : { token }),
      ...(tls === undefined ? {} : { tls }),
      log: (line) => events.say('info', {}, line, 'controllers'),
    });
    const { gpus, models } = machine.description;
    const kind = kindOfWorker(machine.description);
    log.info(
      { port: server.port, metrics: metrics?.port, gpus: gpus.length, kind, models: models.length },
      'ready',
    );
    const registrars = registerWith(options, server.port, instance, events);
    let closing: Promise<void> | null = null;
    const end = async () => {
      // Before draining, so that controllers know it does not come back.
      await Promise.all(registrars.map((registrar) => registrar.leave()));
      await server.close();
      await metrics?.close();
      await machine.close();
      log.info('closed');
    };
    return {
      certificates,
      close: () => {
        closing ??= end();
        return closing;
      },
      renew: (identity) => {
        server.renew(identity);
        metrics?.renew(identity);
      },
      trust: (authority) => {
        for (const registrar of registrars) registrar.trust(authority);
      },
    };
  } catch (error) {
    await metrics?.close();
    await machine.close();
    throw error;
  }
}

function registerWith(
  { world, controllers, advertised = '', token = '', controllerTls }: WorkerProcessOptions,
  port: number,
  instance: string,
  events: EventLog,
): Registrars[] {
  return controllers.map(
    (controller) =>
      new Registrars({
        ...{ time: world.time, network: world.network },
        controller,
        token,
        tls: controllerTls,
        registration: { address: advertised, port, instance },
        log: (line, isProblem, address) =>
          events.say(isProblem ? 'warn' : 'info', {}, line, `registration with ${address}`),
      }),
  );
}
