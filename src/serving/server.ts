import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { EscapementError } from '../core/errors.js';
import { NS_PER_MS, NS_PER_S } from '../core/units.js';
import { createPolicyOf } from '../experiment/create-policy.js';
import type { ServerSettings } from '../experiment/server-settings.js';
import { Clock } from '../live/clock.js';
import { Fleet } from '../live/controller/fleet.js';
import { LiveController } from '../live/controller/live-controller.js';
import { NO_EVENTS } from '../live/controller/live-events.js';
import type { Door, DoorOptions } from '../live/door/door.js';
import { openGrpcDoor } from '../live/door/grpc-door.js';
import { openHttpDoor } from '../live/door/http-door.js';
import { JournalWriter } from '../live/journal/journal-writer.js';
import { profileName } from '../live/profiler/file-name.js';
import type { ProfileControl } from '../live/profiler/profile-control.js';
import { LONGEST_S, type ProfilerEvents } from '../live/profiler/profiler.js';
import { Recorder } from '../live/profiler/recorder.js';
import { describeCluster } from '../live/status/describe-cluster.js';
import { StatusCollector } from '../live/status/status-collector.js';
import { registerClusterGauges } from '../live/telemetry/cluster-gauges.js';
import { ControllerMetrics } from '../live/telemetry/metrics.js';
import { type MetricsServer, startMetricsServer } from '../live/telemetry/metrics-server.js';
import { profileRoutes } from '../live/telemetry/profile-routes.js';
import { createRegistry } from '../live/telemetry/registry.js';
import { json } from '../live/telemetry/route.js';
import { registerStageGauge } from '../live/telemetry/stage-gauge.js';
import type { WorkerLink } from '../live/worker-link.js';
import { fanOut } from '../metrics/fan-out.js';
import { createProfiler } from './profiling.js';

export interface ServerOptions {
  readonly links: readonly WorkerLink[];
  readonly settings: ServerSettings;
  /** Address that all doors listen on. */
  readonly host: string;
  /** 0: any free one; null: that door stays closed. */
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  readonly metricsPort: number | null;
  /** Token, TLS and limits of both doors. */
  readonly door: Pick<DoorOptions, 'token' | 'tls' | 'maxBodyBytes'>;
  /** Where to write down all that enters the core; null: nowhere. */
  readonly journal: string | null;
  /** How long to wait for all workers at the start. */
  readonly startTimeoutNs: number;
  /** A worker that owes a result for this long beyond all reason is given up. */
  readonly hangNs: number;
  readonly serverVersion: string;
  readonly log: Logger;
}

/**
 * A controller with its doors open. Throws `E_WORKER` where workers are missing or don't go together, `E_LISTEN`
 * where an address cannot be listened on, `E_FILE_WRITE` where the journal cannot be written.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { settings, log } = options;
  const clock = new Clock();
  const fleet = new Fleet(options.links);
  const server = new Server(options, fleet);
  try {
    const cluster = await fleet.assemble(() => clock.nowNs(), options.startTimeoutNs);
    const registry = createRegistry();
    const metrics = new ControllerMetrics(registry, cluster.spec.models);
    const collector = new StatusCollector(cluster.spec);
    const recorder = new Recorder((): number => controller.outstandingRequests);
    const journal =
      options.journal === null
        ? null
        : new JournalWriter(
            options.journal,
            {
              ...cluster.spec,
              oneLane: cluster.spec.oneLane ?? false,
              policy: settings.policy,
              defaultSloNs: settings.sloNs,
              admission: settings.admission,
            },
            (error: EscapementError) => log.error({ code: error.code }, error.message),
          );
    server.journal = journal;
    const controller = new LiveController({
      fleet,
      cluster,
      clock,
      createPolicy: createPolicyOf(settings.policy),
      defaultSloNs: settings.sloNs,
      admission: settings.admission,
      observer: fanOut([metrics, collector, recorder]),
      journal,
      hangNs: options.hangNs,
      events: {
        ...NO_EVENTS,
        wokeLate: (lateNs) => metrics.wokeLate(lateNs),
        worker: (worker, up, what) => {
          metrics.setWorkerUp(worker, up);
          log[up ? 'info' : 'warn']({ worker }, what);
        },
        gpuDown: (gpu, reason) => log.warn({ gpu, reason }, 'GPU is gone'),
        gpuUp: (gpu) => log.info({ gpu }, 'GPU is there'),
        deviceError: (gpu, model, error) =>
          log.error({ gpu, model, error }, 'the device failed at an action'),
        stepped: (nowNs, tookNs) => recorder.stepped(nowNs, tookNs),
        sent: (action) => {
          collector.sent(action);
          recorder.sent(action);
        },
        ran: (action, result) => {
          collector.ran(action, result);
          recorder.ran(action, result);
        },
      },
    });
    server.controller = controller;
    const { profiler: autostart, profilerDir } = settings.runtime;
    const profiler = createProfiler({
      recorder,
      links: options.links,
      fleet,
      cluster,
      clock,
      policy: settings.policy.kind,
      facts: { escapement: options.serverVersion },
      newPath: () => resolve(profilerDir, profileName(performance.timeOrigin + performance.now())),
      events: logged(log),
    });
    server.profiler = profiler;
    if (autostart !== 'off') profiler.start(autostart);
    registerClusterGauges(registry, controller.core);
    const modelNames = cluster.spec.models.map(({ name }) => name);
    registerStageGauge(registry, collector.averages, modelNames, () => clock.nowNs());
    const door = { ...options.door, host: options.host, serverVersion: options.serverVersion };
    const common = { ...door, defaultSloNs: settings.sloNs };
    if (options.metricsPort !== null) {
      const status = () =>
        describeCluster({
          collector,
          core: controller.core,
          policy: settings.policy.kind,
          host: hostname(),
          ready: controller.ready,
          workerOf: (gpu) => fleet.nameOf(gpu),
          nowNs: clock.nowNs(),
        });
      server.metrics = await startMetricsServer({
        registry,
        healthy: () => controller.ready,
        host: options.host,
        port: options.metricsPort,
        routes: [
          { path: '/status', method: 'GET', answer: () => json(200, status()) },
          ...profileRoutes(profiler, options.door.token ?? null),
        ],
      });
    }
    if (options.httpPort !== null)
      server.http = await openHttpDoor(controller, { ...common, port: options.httpPort });
    if (options.grpcPort !== null)
      server.grpc = await openGrpcDoor(controller, { ...common, port: options.grpcPort });
    const { http, grpc } = server;
    log.info(
      {
        host: hostname(),
        gpus: cluster.spec.gpus,
        models: cluster.models.length,
        http: http?.port,
        grpc: grpc?.port,
        metrics: server.metrics?.port,
        policy: settings.policy.kind,
        admission: settings.admission,
        sloMs: settings.sloNs / NS_PER_MS,
      },
      'ready',
    );
    return server;
  } catch (error) {
    await server.close(0);
    throw error;
  }
}

export class Server {
  controller: LiveController | null = null;
  http: Door | null = null;
  grpc: Door | null = null;
  metrics: MetricsServer | null = null;
  journal: JournalWriter | null = null;
  profiler: ProfileControl | null = null;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly options: ServerOptions,
    private readonly fleet: Fleet,
  ) {}

  /** Refuses what is new, answers what is there, at most for `drainNs`, and then ends everything. */
  close(drainNs = 10 * NS_PER_S): Promise<void> {
    this.closing ??= this.end(drainNs);
    return this.closing;
  }

  private async end(drainNs: number): Promise<void> {
    const { controller, http, grpc, metrics, journal, fleet } = this;
    await controller?.drain(drainNs);
    // Whether it could be written is in the log.
    await this.profiler?.stop().catch(() => {});
    if (controller === null) await fleet.close();
    else await controller.close();
    await Promise.all([http?.close(drainNs > 0), grpc?.close(drainNs > 0), metrics?.close()]);
    if (controller !== null) await journal?.close(controller.core.digest);
    this.options.log.info({ digest: controller?.core.digest }, 'closed');
  }
}

function logged(log: Logger): ProfilerEvents {
  return {
    started: (mode) => log.info({ mode }, `records a timeline, for ${LONGEST_S} s at most`),
    written: (profile) => log.info(profile, 'the timeline is written: open it at https://ui.perfetto.dev'),
    failed: (error) => log.error({ error: error.message }, 'the timeline cannot be written'),
  };
}
