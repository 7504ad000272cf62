import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { Clock } from '../base/clock/clock.js';
import { invariant } from '../base/invariant.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { noteOnKinds } from '../config/create-policy.js';
import { formatDuration } from '../config/units-text.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { Frontend } from '../live/frontend/frontend.js';
import type { TurnedAway } from '../live/frontend/thread/messages.js';
import { describeCluster } from '../live/observe/status/describe-cluster.js';
import { registerApiErrors } from '../live/observe/telemetry/counters.js';
import {
  CertificateGauges,
  registerClusterGauges,
  registerStageGauge,
} from '../live/observe/telemetry/gauges.js';
import { NameLabels } from '../live/observe/telemetry/labels.js';
import { type MetricsServer, startMetricsServer } from '../live/observe/telemetry/metrics-server.js';
import { type ModelState, registerModelStates } from '../live/observe/telemetry/model-states.js';
import { createRegistry } from '../live/observe/telemetry/registry.js';
import { json, type Route, recordingRoutes } from '../live/observe/telemetry/route.js';
import { waitingPageRoutes } from '../live/observe/ui/live-page.js';
import type { RecordingControl } from '../live/recording/recording-control.js';
import type { ModelEntry, ServiceState, WatchedService } from '../live/service.js';
import type { ServerTls } from '../live/wire/credentials.js';
import { type Assembly, type LiveCluster, startCluster } from './cluster.js';
import { ALL_MODELS } from './deployment-options.js';
import { openFrontends } from './frontends.js';
import { Joining } from './joining.js';
import { PendingService } from './pending-service.js';
import { RefusalLog } from './refusal-log.js';
import { logReadiness } from './server-log.js';
import { type ServerModels, serverModels } from './server-models.js';
import { observersOf } from './server-observers.js';
import type { ServerOptions } from './server-options.js';
import { isUnloaded } from './unserved.js';

/** Text on the live page meanwhile. */
const NO_WORKERS_YET = 'too few workers have joined yet: start them with escapement worker --controller';
/** Time to wait for the remaining workers once this controller drives one of them. */
const DRIVING_GRACE_NS = NS_PER_S;

/**
 * Starts a cluster with frontends for clients. If workers may register, it listens before the first one has come, and
 * is not ready. Throws `E_WORKER` if a worker is missing or does not match the others, `E_LISTEN` if an address cannot
 * be listened on, `E_FILE_WRITE` if the journal cannot be written.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const server = new Server(options);
  try {
    await server.start();
    return server;
  } catch (error) {
    server.startFailed();
    await server.close(0);
    throw error;
  }
}

/** Parts that exist once enough workers are up. */
interface Running {
  readonly cluster: LiveCluster<ReturnType<typeof observersOf>>;
  readonly models: ServerModels;
}

/** A running server. */
export class Server {
  http: Frontend | null = null;
  /** Resolves when the models configured for the start are loaded; rejects if that fails the server. */
  started: Promise<void> = Promise.resolve();
  grpc: Frontend | null = null;
  metrics: MetricsServer | null = null;
  private closing: Promise<void> | null = null;
  private readonly registry: Registry;
  readonly certificates: CertificateGauges;
  /** Labels of its models in metrics. */
  private readonly labels = new NameLabels();
  private readonly clock: Clock;
  private readonly turnedAway: RefusalLog;
  private running: Running | null = null;
  private joining: Joining | null = null;

  constructor(private readonly options: ServerOptions) {
    const { log, world, settings } = options;
    this.clock = new Clock(world.time);
    this.turnedAway = new RefusalLog(log, world.time, settings.tenants.list);
    this.registry = options.registry ?? createRegistry();
    this.certificates = new CertificateGauges(this.registry);
  }

  get controller(): LiveController {
    return this.there.cluster.controller;
  }

  get recordings(): RecordingControl {
    return this.there.cluster.observers.recording.control;
  }

  /** Listens, waits for workers, and logs when all models are ready. */
  async start(): Promise<void> {
    const { options, registry, clock } = this;
    const { links, minWorkers = links.length, settings, log } = options;
    let pending: PendingService | null = null;
    if (options.joining !== undefined) {
      this.joining = await Joining.open(options.joining, options.world, clock, log);
      this.joining.register(registry);
      pending = new PendingService(() => clock.nowNs());
      await this.listen(pending);
    }
    const { joining } = this;
    const cluster = await startCluster({ links, minWorkers, clock, joining, ...settings }, (assembly) =>
      observersOf(options, registry, assembly, this.turnedAway),
    );
    const { fleet } = cluster.assembly;
    const { collector: statistics } = cluster.observers.statistics;
    const given = { defaultSloNs: settings.sloNs, statistics, labels: this.labels, time: clock.time };
    const models = serverModels(cluster.controller, fleet, options.deployment ?? ALL_MODELS, log, given);
    this.running = { cluster, models };
    this.registerGauges(this.running);
    if (pending === null) await this.listen(models.service);
    else pending.become(models.service);
    this.started = fleet
      .untilDriving(DRIVING_GRACE_NS)
      .then(() => models.start())
      .then(() => this.sayReady(this.there));
    // Its failure is reported to those who await it.
    this.started.catch(() => this.startFailed());
  }

  startFailed(): void {
    const journal = this.running?.cluster.observers.journal ?? null;
    if (journal !== null) journal.isInVain = true;
  }

  /**
   * Reports not ready for `noticeNs` while it still serves. Then refuses new requests, waits up to `drainNs` for
   * answers, and ends everything. `signal`: cause, for the log.
   */
  close(drainNs = 10 * NS_PER_S, noticeNs = 0, signal = ''): Promise<void> {
    this.closing ??= this.end(drainNs, noticeNs, signal);
    return this.closing;
  }

  /** Renews the certificate for later connections to any of its ports, if it encrypts at all. */
  renew(tls: ServerTls): void {
    for (const port of [this.http, this.grpc, this.metrics, this.joining]) port?.renew(tls);
  }

  private get there(): Running {
    invariant(this.running !== null, 'a server that has started is used');
    return this.running;
  }

  private get isReady(): boolean {
    return this.running?.models.service.state.notReady === null;
  }

  private get ports(): Readonly<Record<string, number | undefined>> {
    const { http, grpc, metrics, joining } = this;
    const ports = { http: http?.port, grpc: grpc?.port, metrics: metrics?.port };
    return joining === null ? ports : { ...ports, registration: joining.port };
  }

  private async listen(service: WatchedService): Promise<void> {
    const { options, registry } = this;
    const { host, serverVersion, metricsPort, settings, log } = options;
    const apiErrors = registerApiErrors(registry, this.labels);
    if (metricsPort !== null) this.metrics = await this.serveMetrics(metricsPort);
    const { classes, tenants } = settings;
    const facts = { host, serverVersion, defaultSloNs: settings.sloNs, classes, tenants };
    const frontend = { ...options.frontend, ...facts, apiErrors };
    const turnedAway = (counts: TurnedAway) =>
      this.turnedAway.add(counts.map(([who, count]) => ({ why: 'tooManyConnections', who, count })));
    await openFrontends(service, { ...options, frontend, turnedAway }, this);
    log.info({ address: host, ...this.ports }, 'listening');
    options.listening?.(this);
  }

  private registerGauges({
    cluster: { controller, observers, assembly },
    models: { service },
  }: Running): void {
    const { registry } = this;
    const { fleet } = assembly;
    registerClusterGauges(
      registry,
      controller.core,
      (gpu) => fleet.nameOf(gpu),
      (gpu) => fleet.kindOf(gpu),
    );
    registerModelStates(registry, this.labels, () => modelStates(service.state));
    registerStageGauge(registry, observers.status.collector.averages, controller.core.cluster, () =>
      controller.nowNs(),
    );
  }

  private sayReady({ cluster: { assembly, observers }, models: { service } }: Running): void {
    if (this.closing !== null) return;
    const { settings, log } = this.options;
    const { policy, admission, sloNs } = settings;
    const { gpus } = assembly.cluster.spec;
    const kinds = kindsOf(assembly);
    const facts = { host: hostname(), gpus, kinds, models: readyModels(service), ...this.ports };
    const how = {
      journal: observers.journal?.path,
      policy: policy.kind,
      admission,
      sloMs: sloNs / NS_PER_MS,
    };
    log.info({ ...facts, ...how }, 'ready');
    const note = noteOnKinds(policy, assembly.cluster.kinds.length);
    if (note !== null) log.info(note);
    logReadiness(log, service, this.clock.time);
  }

  private serveMetrics(port: number): Promise<MetricsServer> {
    const { options, registry } = this;
    const waiting = options.ui === true ? waitingPageRoutes(NO_WORKERS_YET) : [];
    return startMetricsServer({
      registry,
      healthy: () => this.isReady,
      host: options.host,
      port,
      token: options.frontend.token ?? null,
      tls: options.frontend.tls ?? null,
      overfilled: (who) => this.turnedAway.add([{ why: 'metricsPort', who, count: 1 }]),
      routes: () => (this.running === null ? waiting : this.routes(this.running)),
    });
  }

  private routes({ cluster: { controller, observers, assembly } }: Running): Route[] {
    const { settings } = this.options;
    const status = () =>
      describeCluster({
        collector: observers.status.collector,
        core: controller.core,
        policy: settings.policy.kind,
        host: hostname(),
        ready: this.isReady,
        workerOf: (gpu) => assembly.fleet.nameOf(gpu),
        kindOf: (gpu) => assembly.fleet.kindOf(gpu),
        classes: settings.classes,
        tenants: settings.tenants.list,
        scaling: observers.scaling?.status() ?? null,
        nowNs: controller.nowNs(),
      });
    return [
      { path: '/status', method: 'GET', answer: () => json(200, status()) },
      ...recordingRoutes(observers.recording.control),
      ...(observers.ui?.routes(controller, status) ?? []),
    ];
  }

  private async end(drainNs: number, wantedNs: number, signal: string): Promise<void> {
    const { http, grpc, metrics, joining, running } = this;
    const { log } = this.options;
    // A server that is not ready has no clients to redirect.
    const noticeNs = this.isReady ? wantedNs : 0;
    if (signal !== '') {
      const rest = noticeNs > 0 ? `not ready; serving on for ${formatDuration(noticeNs)}` : 'no new requests';
      log.info(`${signal}: ${rest}`);
    }
    running?.models.close();
    // Clients are refused from now on, however long closing the workers' port takes.
    await Promise.all([joining?.close(), running?.cluster.close(drainNs, noticeNs)]);
    this.turnedAway.close();
    await Promise.all([http?.close(drainNs > 0), grpc?.close(drainNs > 0), metrics?.close()]);
    if (running !== null) log.info({ digest: running.cluster.controller.core.digest }, 'closed');
  }
}

/** Number of GPUs of each kind. */
function kindsOf({ fleet, cluster: { kinds, spec } }: Assembly): Record<string, number> {
  const of = Array.from({ length: spec.gpus + (spec.spareGpus ?? 0) }, (_, gpu) => fleet.kindOf(gpu));
  return Object.fromEntries(kinds.map((kind) => [kind, of.filter((each) => each === kind).length]));
}

function readyModels({ state }: WatchedService): number {
  return state.entries.filter(({ state: each }) => each === 'ready').length;
}

/** Model versions with their states, as labelled in metrics. */
export function modelStates({
  entries,
}: ServiceState): { readonly name: string; readonly state: ModelState }[] {
  return entries.map((entry) => ({ name: entry.name, state: stateOf(entry) }));
}

function stateOf(entry: ModelEntry): ModelState {
  const { state, reason } = entry;
  if (state === 'ready' && reason !== '') return 'outdated';
  return isUnloaded(entry) ? 'unloaded' : state;
}
