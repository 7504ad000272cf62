import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { EscapementError } from '../base/errors.js';
import type { LiveController } from '../live/controller/live-controller.js';
import { JournalKeeper } from '../live/journal/journal-keeper.js';
import { StatisticsCollector } from '../live/observe/model-statistics.js';
import type { ClusterStatus } from '../live/observe/status/cluster-status.js';
import { StatusCollector } from '../live/observe/status/status-collector.js';
import { registerJournalGauge } from '../live/observe/telemetry/gauges.js';
import { ControllerMetrics } from '../live/observe/telemetry/metrics.js';
import type { Route } from '../live/observe/telemetry/route.js';
import { LivePage } from '../live/observe/ui/live-page.js';
import { RecentActivity } from '../live/observe/ui/recent-activity.js';
import type { Assembly, ClusterObserver } from './cluster.js';
import { FailedLog } from './failed-log.js';
import { JournalObserver } from './journal-observer.js';
import { RecordingObserver, recordingName } from './recording-observer.js';
import type { RefusalLog } from './refusal-log.js';
import { ScalingObserver } from './scaling-observer.js';
import { loggedCluster, loggedKeeper, loggedRecordings } from './server-log.js';
import type { ServerOptions } from './server-options.js';
import { UnservedWatch } from './unserved-watch.js';

/** Creates the observers of a server's cluster. */
export function observersOf(
  options: ServerOptions,
  registry: Registry,
  assembly: Assembly,
  turnedAway: RefusalLog,
) {
  const { settings, log, journalKeepBytes } = options;
  const { length: classes } = settings.classes;
  const { length: tenants } = settings.tenants.list;
  const status = new StatusCollector(assembly.cluster.spec, { classes, tenants });
  const journal =
    options.journal === null ? null : journalObserver(options.journal, options, registry, assembly);
  const { recording: autostart, recordingDir } = settings.runtime;
  return {
    metrics: metricsObserver(
      registry,
      assembly,
      assembly.fleet.links.map(({ name }) => name),
    ),
    status: { run: status, events: status, collector: status },
    statistics: statisticsOf(new StatisticsCollector(options.world.unixMs)),
    recording: new RecordingObserver(assembly, {
      autostart,
      facts: { escapement: options.serverVersion },
      newPath: () => resolve(recordingDir, recordingName(options.world.unixMs())),
      events: loggedRecordings(log),
    }),
    ui: options.ui === true ? new UiObserver(assembly) : null,
    log: loggedCluster(log, assembly),
    scaling: settings.scaling ? new ScalingObserver(settings.scaling, assembly, registry, log) : null,
    turnedAway: tenants === 0 ? null : { run: turnedAway },
    unserved: watched(options, assembly),
    failed: log.isLevelEnabled('debug') ? failedLog(log, assembly) : null,
    keeper:
      journal === null || options.journal === null
        ? null
        : keeping(
            new JournalKeeper(
              options.journal,
              journal.path,
              journalKeepBytes,
              loggedKeeper(log),
              options.world,
            ),
          ),
    journal,
  };
}

function journalObserver(
  name: string,
  { log, world }: ServerOptions,
  registry: Registry,
  assembly: Assembly,
) {
  const tell = registerJournalGauge(registry);
  const failed = ({ code, message }: EscapementError) => {
    tell();
    log.error({ code }, `${message}; the journal ends there, and the server goes on without it`);
  };
  return new JournalObserver(name, assembly, failed, world);
}

function watched({ log, world: { time } }: ServerOptions, { cluster, fleet }: Assembly): ClusterObserver {
  const nameOf = (model: number) => cluster.spec.models[model].name;
  const isIdle = () => fleet.gpusUp === 0;
  const watch = new UnservedWatch({ log, time, nameOf, isIdle });
  return {
    run: watch,
    events: { modelGone: (model) => watch.modelGone(model) },
    ended: async () => watch.close(),
  };
}

function failedLog(log: Logger, { cluster, settings }: Assembly): ClusterObserver {
  const tenants = (settings.tenants?.list ?? []).map(({ name }) => name);
  const failed = new FailedLog(log, (model) => cluster.spec.models[model].name, tenants);
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

function keeping(keeper: JournalKeeper): ClusterObserver {
  return { ended: async () => keeper.close() };
}

/**
 * Prometheus metrics of a cluster. `workers`: names of all, including those that never come: alerts need their series.
 */
function metricsObserver(
  registry: Registry,
  { cluster, settings }: Assembly,
  workers: readonly string[],
): ClusterObserver {
  const { classes = [], tenants } = settings;
  const metrics = new ControllerMetrics(registry, cluster.spec.models, {
    classes: classes.map(({ name }) => name),
    tenants: (tenants?.list ?? []).map(({ name }) => name),
  });
  for (const name of workers) metrics.setWorkerUp(name, false);
  return {
    run: metrics,
    events: {
      wokeLate: (lateNs) => metrics.wokeLate(lateNs),
      stepped: (_nowNs, tookNs) => metrics.stepped(tookNs),
      ran: (action, result) => metrics.ran(action, result),
      modelCame: (index, { spec }) => metrics.modelCame(index, spec.name),
      standsBy: (isIt) => metrics.setStandby(isIt),
      worker: (worker, up) => metrics.setWorkerUp(worker, up),
      workerLeft: (worker) => metrics.forgetWorker(worker),
    },
  };
}

/** Live page of a server. */
class UiObserver implements ClusterObserver {
  readonly run = new RecentActivity();
  readonly events = {
    modelCame: () => this.page?.modelsChanged(),
    modelGone: () => this.page?.modelsChanged(),
  };
  private page: LivePage | null = null;

  constructor(private readonly assembly: Assembly) {}

  started({ core }: LiveController): void {
    this.run.watch(core);
  }

  /** `status` is polled while a page is open. */
  routes(controller: LiveController, status: () => ClusterStatus): readonly Route[] {
    this.page ??= new LivePage({
      activity: this.run,
      cluster: controller.core.cluster,
      time: this.assembly.clock.time,
      nowNs: () => controller.nowNs(),
      status,
    });
    return this.page.routes;
  }

  async ended(): Promise<void> {
    this.page?.close();
  }
}
