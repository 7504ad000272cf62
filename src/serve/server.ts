import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import type { ServerSettings } from '../config/server-settings.js';
import { formatDuration } from '../config/units-text.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { Frontend, FrontendOptions } from '../live/frontend/frontend.js';
import { JournalKeeper } from '../live/journal/journal-keeper.js';
import { StatisticsCollector } from '../live/observe/model-statistics.js';
import { describeCluster } from '../live/observe/status/describe-cluster.js';
import { StatusCollector } from '../live/observe/status/status-collector.js';
import { registerClusterGauges } from '../live/observe/telemetry/cluster-gauges.js';
import { registerJournalGauge } from '../live/observe/telemetry/journal-gauge.js';
import { type MetricsServer, startMetricsServer } from '../live/observe/telemetry/metrics-server.js';
import { recordingRoutes } from '../live/observe/telemetry/recording-routes.js';
import { registerRefusals } from '../live/observe/telemetry/refusal-counter.js';
import { createRegistry } from '../live/observe/telemetry/registry.js';
import { json } from '../live/observe/telemetry/route.js';
import { registerStageGauge } from '../live/observe/telemetry/stage-gauge.js';
import type { RecordingControl } from '../live/recording/recording-control.js';
import type { WatchedService } from '../live/service.js';
import type { ServerTls } from '../live/wire/credentials.js';
import { type Assembly, type ClusterObserver, type LiveCluster, startCluster } from './cluster.js';
import { ALL_MODELS, type DeploymentOptions } from './deployment-options.js';
import { FailedLog } from './failed-log.js';
import { openFrontends } from './frontends.js';
import { JournalObserver } from './journal-observer.js';
import { metricsObserver } from './metrics-observer.js';
import { RecordingObserver, recordingName } from './recording-observer.js';
import { loggedCluster, loggedKeeper, loggedRecordings, logReadiness } from './server-log.js';
import { type ServerModels, serverModels } from './server-models.js';

export interface ServerOptions {
  readonly links: readonly WorkerLink[];
  /** With so many of them it starts. Default: all. */
  readonly minWorkers?: number;
  readonly settings: ServerSettings;
  /** Address that all frontends listen on. */
  readonly host: string;
  /** 0: any free one; null: no such frontend. */
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  readonly metricsPort: number | null;
  /** Token, TLS and limits of both frontends. */
  readonly frontend: Omit<
    FrontendOptions,
    'port' | 'host' | 'defaultSloNs' | 'serverVersion' | 'budget' | 'refusals' | 'sharesPort'
  >;
  /** Which models it runs. Default: all. */
  readonly deployment?: DeploymentOptions;
  /** Threads of each transport. */
  readonly frontends: number;
  /** Where to write all that enters the core; null: nowhere. */
  readonly journal: string | null;
  /** Most bytes that journals of that name may take together before the oldest are deleted; null: no limit. */
  readonly journalKeepBytes: number | null;
  readonly serverVersion: string;
  readonly log: Logger;
  /** A frontend's thread hangs, and cannot be ended: only another process helps. */
  readonly hung?: (what: string) => void;
}

/** Workers of which some are driven give up their seats together. */
const DRIVING_GRACE_NS = NS_PER_S;

/**
 * A cluster with frontends for clients. Throws `E_WORKER` when a worker is missing or does not match the others,
 * `E_LISTEN` when an address cannot be listened on, `E_FILE_WRITE` when the journal cannot be written.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const registry = createRegistry();
  const cluster = await startCluster(
    { links: options.links, minWorkers: options.minWorkers ?? options.links.length, ...options.settings },
    (assembly) => observersOf(options, registry, assembly),
  );
  const server = new Server(options, cluster);
  try {
    await server.open(registry);
    return server;
  } catch (error) {
    server.startFailed();
    await server.close(0);
    throw error;
  }
}

function observersOf(options: ServerOptions, registry: Registry, assembly: Assembly) {
  const { settings, log, journalKeepBytes } = options;
  const status = new StatusCollector(assembly.cluster.spec);
  const journal = options.journal === null ? null : journalObserver(options.journal, log, registry, assembly);
  const { recording: autostart, recordingDir } = settings.runtime;
  return {
    metrics: metricsObserver(
      registry,
      assembly,
      options.links.map(({ name }) => name),
    ),
    status: { run: status, events: status, collector: status },
    statistics: statisticsOf(new StatisticsCollector()),
    recording: new RecordingObserver(assembly, {
      autostart,
      facts: { escapement: options.serverVersion },
      newPath: () => resolve(recordingDir, recordingName()),
      events: loggedRecordings(log),
    }),
    log: loggedCluster(log, assembly),
    failed: log.isLevelEnabled('debug') ? failedLog(log, assembly) : null,
    keeper:
      journal === null || options.journal === null
        ? null
        : keeping(new JournalKeeper(options.journal, journal.path, journalKeepBytes, loggedKeeper(log))),
    journal,
  };
}

function journalObserver(name: string, log: Logger, registry: Registry, assembly: Assembly) {
  const tell = registerJournalGauge(registry);
  return new JournalObserver(name, assembly, ({ code, message }) => {
    tell();
    log.error({ code }, `${message}; the journal ends there, and the server goes on without it`);
  });
}

function failedLog(log: Logger, { cluster }: Assembly): ClusterObserver {
  const failed = new FailedLog(log, (model) => cluster.spec.models[model].name);
  return { run: failed, events: failed };
}

function statisticsOf(collector: StatisticsCollector) {
  return {
    collector,
    run: collector,
    events: collector,
    started: ({ state }: LiveController) => collector.began(state.entries),
  };
}

/** A running server. */
export class Server {
  http: Frontend | null = null;
  /** Resolves when the models that are to be there from the start are; rejects if that fails the server. */
  started: Promise<void> = Promise.resolve();
  grpc: Frontend | null = null;
  metrics: MetricsServer | null = null;
  private closing: Promise<void> | null = null;
  private readonly models: ServerModels;

  constructor(
    private readonly options: ServerOptions,
    private readonly cluster: LiveCluster<ReturnType<typeof observersOf>>,
  ) {
    const { deployment = ALL_MODELS, log, settings } = options;
    const { collector: statistics } = cluster.observers.statistics;
    const given = { defaultSloNs: settings.sloNs, statistics };
    this.models = serverModels(cluster.controller, cluster.assembly.fleet, deployment, log, given);
  }

  get controller(): LiveController {
    return this.cluster.controller;
  }

  get recordings(): RecordingControl {
    return this.cluster.observers.recording.control;
  }

  /** Starts to listen, and says in the log when all models are ready. */
  async open(registry: Registry): Promise<void> {
    const { options, controller } = this;
    const { settings, host, serverVersion, metricsPort } = options;
    const { assembly, observers } = this.cluster;
    const { spec } = assembly.cluster;
    registerClusterGauges(registry, controller.core);
    registerStageGauge(registry, observers.status.collector.averages, controller.core.cluster, () =>
      controller.nowNs(),
    );
    const refusals = registerRefusals(registry);
    const { service } = this.models;
    if (metricsPort !== null) this.metrics = await this.serveMetrics(registry, metricsPort);
    const frontend = { ...options.frontend, host, serverVersion, defaultSloNs: settings.sloNs, refusals };
    await openFrontends(service, { ...options, frontend }, this);
    const ports = { http: this.http?.port, grpc: this.grpc?.port, metrics: this.metrics?.port };
    options.log.info({ address: host, ...ports }, 'listening');
    this.started = assembly.fleet
      .untilDriving(DRIVING_GRACE_NS)
      .then(() => this.models.start())
      .then(() => {
        if (this.closing !== null) return;
        const facts = { host: hostname(), gpus: spec.gpus, models: readyModels(service), ...ports };
        const { policy, admission, sloNs } = settings;
        options.log.info(
          {
            ...facts,
            journal: observers.journal?.path,
            policy: policy.kind,
            admission,
            sloMs: sloNs / NS_PER_MS,
          },
          'ready',
        );
        logReadiness(options.log, service);
      });
    // Its failure is for those who wait for it.
    this.started.catch(() => this.startFailed());
  }

  startFailed(): void {
    const { journal } = this.cluster.observers;
    if (journal !== null) journal.isInVain = true;
  }

  /**
   * Is not ready for `noticeNs`, during which it goes on serving. Then refuses new requests, waits for answers for
   * `drainNs` at most, and ends everything. `signal`: what made it end, for the log.
   */
  close(drainNs = 10 * NS_PER_S, noticeNs = 0, signal = ''): Promise<void> {
    this.closing ??= this.end(drainNs, noticeNs, signal);
    return this.closing;
  }

  /** Connections that come later, to any of its ports, get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void {
    for (const port of [this.http, this.grpc, this.metrics]) port?.renew(tls);
  }

  private serveMetrics(registry: Registry, port: number): Promise<MetricsServer> {
    const { controller, recordings, options } = this;
    const { assembly, observers } = this.cluster;
    const status = () =>
      describeCluster({
        collector: observers.status.collector,
        core: controller.core,
        policy: options.settings.policy.kind,
        host: hostname(),
        ready: this.models.service.state.notReady === null,
        workerOf: (gpu) => assembly.fleet.nameOf(gpu),
        nowNs: controller.nowNs(),
      });
    return startMetricsServer({
      registry,
      healthy: () => this.models.service.state.notReady === null,
      host: options.host,
      port,
      token: options.frontend.token ?? null,
      tls: options.frontend.tls ?? null,
      routes: [
        { path: '/status', method: 'GET', answer: () => json(200, status()) },
        ...recordingRoutes(recordings),
      ],
    });
  }

  private async end(drainNs: number, wantedNs: number, signal: string): Promise<void> {
    const { http, grpc, metrics, cluster } = this;
    const { log } = this.options;
    // A server that is not ready has no clients to send elsewhere.
    const noticeNs = this.models.service.state.notReady === null ? wantedNs : 0;
    if (signal !== '') {
      const rest = noticeNs > 0 ? `not ready; serving on for ${formatDuration(noticeNs)}` : 'no new requests';
      log.info(`${signal}: ${rest}`);
    }
    this.models.close();
    await cluster.close(drainNs, noticeNs);
    await Promise.all([http?.close(drainNs > 0), grpc?.close(drainNs > 0), metrics?.close()]);
    log.info({ digest: this.controller.core.digest }, 'closed');
  }
}

function readyModels({ state }: WatchedService): number {
  return state.entries.filter(({ state: each }) => each === 'ready').length;
}

function keeping(keeper: JournalKeeper): ClusterObserver {
  return { ended: async () => keeper.close() };
}
