import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { Clock } from '../base/clock/clock.js';
import { invariant } from '../base/invariant.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { noteOnKinds } from '../config/policy-notes.js';
import { formatDuration } from '../config/units-text.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { Frontend, FrontendOptions } from '../live/frontend/frontend.js';
import { newBudgetCounters } from '../live/frontend/limits.js';
import { checkThreads, openFrontendThreads } from '../live/frontend/thread/frontend-threads.js';
import { EventLog } from '../live/observe/event-log.js';
import { statusRoute } from '../live/observe/status/describe-cluster.js';
import { CertificateGauges } from '../live/observe/telemetry/certificates.js';
import {
  type ModelState,
  registerApiErrors,
  registerCluster,
  registerModelStates,
} from '../live/observe/telemetry/controller-metrics.js';
import { ModelLabels } from '../live/observe/telemetry/labels.js';
import { createRegistry, readOnScrape } from '../live/observe/telemetry/metrics.js';
import { startMetricsServer } from '../live/observe/telemetry/metrics-server.js';
import type { Route } from '../live/observe/telemetry/route.js';
import { waitingPageRoutes } from '../live/observe/ui/live-page.js';
import type { ModelEntry, ServiceState } from '../live/service.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ServedPort } from '../live/wire/listener.js';
import { type Assembly, type LiveCluster, startCluster } from './cluster.js';
import { clusterModels } from './cluster-models.js';
import { ALL_MODELS } from './deployment-options.js';
import { type Joining, openJoining } from './joining.js';
import { ModelService } from './model-service.js';
import { logReadiness, logTurnedAway } from './server-log.js';
import { observersOf } from './server-observers.js';
import type { ServerOptions } from './server-options.js';
import { slowModelsWarning } from './slow-models.js';

/** Text on the live page until there are enough workers. */
const NO_WORKERS_YET = 'not enough workers have joined yet: start them with escapement worker --controller';
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

/** Cluster with observers, once enough workers are up. */
type Running = LiveCluster<ReturnType<typeof observersOf>>;

/** A running server. */
export class Server {
  http: Frontend | null = null;
  /** Resolves when the models configured for the start are loaded; rejects if that fails the server. */
  started: Promise<void> = Promise.resolve();
  grpc: Frontend | null = null;
  metrics: ServedPort | null = null;
  private closing: Promise<void> | null = null;
  private readonly registry: Registry;
  readonly certificates: CertificateGauges;
  /** Labels in metrics: of all its models, and of those with requests. */
  private readonly labels: ModelLabels;
  private readonly requested: ModelLabels;
  private readonly clock: Clock;
  private readonly events: EventLog;
  private readonly models: ModelService;
  private running: Running | null = null;
  private joining: Joining | null = null;

  constructor(private readonly options: ServerOptions) {
    const { log, world, deployment = ALL_MODELS } = options;
    const clock = new Clock(world.time);
    this.clock = clock;
    this.events = new EventLog(log, world.time);
    this.labels = new ModelLabels(options.metricsModels);
    this.requested = new ModelLabels(options.metricsModels);
    this.models = new ModelService(
      ...([deployment, log, this.labels, () => clock.nowNs(), clock.time] as const),
      options.settings.pipelines,
    );
    this.registry = options.registry ?? createRegistry();
    this.certificates = new CertificateGauges(this.registry);
  }

  get controller(): LiveController {
    return this.there.controller;
  }

  /** Listens, waits for workers, and logs when all models are ready. */
  async start(): Promise<void> {
    const { options, registry, clock, models, events } = this;
    const { links, minWorkers = links.length, settings } = options;
    if (options.joining !== undefined) {
      this.joining = await openJoining(options.joining, options.world, clock, events, registry);
      await this.listen();
    }
    const { joining } = this;
    const { otlp } = options;
    // Loaded only if it is used, because that takes long.
    const RequestSpans = otlp && (await import('./request-spans.js')).RequestSpans;
    const cluster = await startCluster({ links, minWorkers, clock, joining, ...settings }, (assembly) => ({
      ...observersOf(options, registry, assembly, { events, labels: this.requested }),
      spans: RequestSpans ? new RequestSpans(assembly, { ...options, events, registry }) : null,
    }));
    const { controller, assembly, observers } = cluster;
    const { fleet } = assembly;
    models.attach(controller, clusterModels(controller, fleet), observers.statistics.collector);
    fleet.workerCameUp = () => models.workersCame();
    this.running = cluster;
    this.registerGauges(cluster);
    if (joining === null) await this.listen();
    this.started = fleet
      .untilDriving(DRIVING_GRACE_NS)
      .then(() => models.start())
      .then(() => this.sayReady(cluster));
    // Its failure is reported to those who await it.
    this.started.catch(() => this.startFailed());
  }

  startFailed(): void {
    const journal = this.running?.observers.journal ?? null;
    if (journal !== null) journal.startFailed = true;
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
    return this.models.state.notReady === null;
  }

  private get ports(): Readonly<Record<string, number | undefined>> {
    const { http, grpc, metrics, joining } = this;
    const ports = { http: http?.port, grpc: grpc?.port, metrics: metrics?.port };
    return joining === null ? ports : { ...ports, registration: joining.port };
  }

  private async listen(): Promise<void> {
    const { options, registry } = this;
    const { host, serverVersion, metricsPort, settings, log } = options;
    const apiErrors = registerApiErrors(registry, this.labels);
    if (metricsPort !== null) this.metrics = await this.serveMetrics(metricsPort);
    const { classes, tenants } = settings;
    const facts = { host, serverVersion, defaultSloNs: settings.sloNs, classes, tenants };
    await this.openFrontends({ ...options.frontend, ...facts, apiErrors });
    log.info({ address: host, ...this.ports }, 'listening');
    options.listening?.(this);
  }

  /** Opens both transports in parallel. */
  private async openFrontends(frontend: Omit<FrontendOptions, 'port'>): Promise<void> {
    const { models, events } = this;
    const { httpPort, grpcPort, frontends: threads, world, hung } = this.options;
    checkThreads(threads);
    // Request bodies and answers in progress share one limit across all threads.
    const counters = newBudgetCounters(2 * threads);
    const open = (transport: 'http' | 'grpc', port: number, firstSlot: number) =>
      openFrontendThreads(models, {
        ...{ transport, world, threads, counters, firstSlot },
        frontend: { ...frontend, port },
        turnedAway: (client) => logTurnedAway(events, 'requests', client),
        ...(hung === undefined ? {} : { hung }),
        died: (reason) => {
          const what = `a frontend thread ended, which closed its connections; another one starts: ${reason}`;
          events.say('error', { transport, reason }, what, transport);
        },
      });
    const [http, grpc] = await Promise.allSettled([
      httpPort === null ? null : open('http', httpPort, 0),
      grpcPort === null ? null : open('grpc', grpcPort, threads),
    ]);
    // Even if the other failed: both are closed with the server.
    if (http.status === 'fulfilled') this.http = http.value;
    if (grpc.status === 'fulfilled') this.grpc = grpc.value;
    for (const opening of [http, grpc]) if (opening.status === 'rejected') throw opening.reason;
  }

  private registerGauges({ controller, assembly }: Running): void {
    const { registry, models } = this;
    const { fleet } = assembly;
    registerCluster(
      registry,
      controller.core,
      (gpu) => fleet.gpus.nameOf(gpu),
      (gpu) => fleet.gpus.kindOf(gpu),
      this.requested,
    );
    const { gpuMemory } = this.options;
    if (gpuMemory !== undefined) readOnScrape(registry, 'escapement_gpu_memory_bytes', gpuMemory);
    registerModelStates(registry, this.labels, () => modelStates(models.state));
  }

  private sayReady({ assembly, observers }: Running): void {
    this.warnOfSlow();
    if (this.closing !== null) return;
    const { models } = this;
    const { settings, log } = this.options;
    const { policy, admission, sloNs } = settings;
    const { gpus } = assembly.cluster.spec;
    const kinds = kindsOf(assembly);
    const facts = { host: hostname(), gpus, kinds, ...readyModels(models.state), ...this.ports };
    const how = {
      journal: observers.journal?.path,
      policy: policy.kind,
      admission,
      sloMs: sloNs / NS_PER_MS,
    };
    log.info({ ...facts, ...how }, 'ready');
    const note = noteOnKinds(policy, assembly.cluster.kinds.length);
    if (note !== null) log.info(`${policy.kind} ${note}`);
    logReadiness(this.events, models);
  }

  private warnOfSlow(): void {
    const { log, settings } = this.options;
    const timed = this.models.state.entries.flatMap(({ model }) =>
      model === null
        ? []
        : [{ name: model.spec.name, execNs: model.spec.execNs[0], sloNs: model.sloNs ?? settings.sloNs }],
    );
    const slow = slowModelsWarning(timed);
    if (slow !== null) log.warn(slow);
  }

  private serveMetrics(port: number): Promise<ServedPort> {
    const { options, registry } = this;
    const waiting = options.ui === true ? waitingPageRoutes(NO_WORKERS_YET) : [];
    return startMetricsServer({
      registry,
      healthy: () => this.isReady,
      host: options.host,
      port,
      token: options.frontend.token ?? null,
      tls: options.frontend.tls ?? null,
      overfilled: (who) => logTurnedAway(this.events, 'metrics', who),
      routes: () => (this.running === null ? waiting : this.routes(this.running)),
    });
  }

  private routes({ controller, observers, assembly }: Running): Route[] {
    const { settings } = this.options;
    const status = statusRoute(() => ({
      collector: observers.status.collector,
      core: controller.core,
      policy: settings.policy.kind,
      host: hostname(),
      ready: this.isReady,
      serves: (name) =>
        this.models.state.entries.some((entry) => entry.name === name && entry.state === 'ready'),
      versionOf: (model) => controller.modelAt(model)?.version ?? '',
      workerOf: (gpu) => assembly.fleet.gpus.nameOf(gpu),
      kindOf: (gpu) => assembly.cluster.kinds[controller.core.cluster.kindOf[gpu]],
      classes: settings.classes,
      tenants: settings.tenants.list,
      scaling: observers.scaling?.status() ?? null,
      lengthsOf: (model) => observers.lengths.collector.advice(model),
      nowNs: controller.nowNs(),
    }));
    return [status, ...(observers.ui?.routes ?? [])];
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
    this.models.close();
    // Clients are refused from now on, however long closing the workers' port takes.
    await Promise.all([joining?.close(), running?.close(drainNs, noticeNs)]);
    await Promise.all([http?.close(drainNs > 0), grpc?.close(drainNs > 0), metrics?.close()]);
    if (running !== null) log.info({ digest: running.controller.core.digest }, 'closed');
  }
}

/** Number of GPUs of each kind. */
function kindsOf({ fleet, cluster: { kinds, spec } }: Assembly): Record<string, number> {
  const of = Array.from({ length: spec.gpus + (spec.spareGpus ?? 0) }, (_, gpu) => fleet.gpus.kindOf(gpu));
  return Object.fromEntries(kinds.map((kind) => [kind, of.filter((each) => each === kind).length]));
}

/** Numbers of ready models and, if there are any, pipelines. */
function readyModels({ entries }: ServiceState) {
  const ready = entries.filter(({ state }) => state === 'ready');
  const pipelines = ready.filter(({ model }) => model?.isPipeline === true).length;
  return { models: ready.length - pipelines, ...(pipelines > 0 && { pipelines }) };
}

/** Model versions with their states, as labelled in metrics. */
export function modelStates({
  entries,
}: ServiceState): { readonly name: string; readonly state: ModelState }[] {
  return entries.map((entry) => ({ name: entry.name, state: stateOf(entry) }));
}

function stateOf(entry: ModelEntry): ModelState {
  const { state, reason, blocked, isUnloaded = false } = entry;
  if (blocked !== undefined) return 'unavailable';
  if (state === 'ready' && reason !== '') return 'outdated';
  return isUnloaded ? 'unloaded' : state;
}
