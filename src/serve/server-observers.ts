import type { Registry } from 'prom-client';
import type { EscapementError } from '../base/errors.js';
import type { RunObserver } from '../core/observer.js';
import type { LiveEvents } from '../live/controller/live-events.js';
import { JournalKeeper } from '../live/journal/journal-keeper.js';
import type { EventLog } from '../live/observe/event-log.js';
import { StatisticsCollector } from '../live/observe/model-statistics.js';
import { SeenLengths } from '../live/observe/seen-lengths.js';
import { StatusCollector } from '../live/observe/status/status-collector.js';
import { ControllerMetrics } from '../live/observe/telemetry/controller-metrics.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import { readOnScrape } from '../live/observe/telemetry/metrics.js';
import { LivePage } from '../live/observe/ui/live-page.js';
import { shareText } from '../record/share-text.js';
import type { Assembly, ClusterObserver } from './cluster.js';
import { JournalObserver } from './journal-observer.js';
import { ScalingObserver } from './scaling-observer.js';
import { loggedCluster, loggedLimits } from './server-log.js';
import type { ServerOptions } from './server-options.js';

/** Creates the observers of a server's cluster. */
export function observersOf(
  options: ServerOptions,
  registry: Registry,
  assembly: Assembly,
  { events, labels }: { readonly events: EventLog; readonly labels: ModelLabels },
) {
  const { settings, log, world } = options;
  const { cluster, fleet } = assembly;
  const tenants = settings.tenants.list;
  const journal =
    options.journal === null ? null : journalObserver(options.journal, options, registry, assembly);
  return {
    metrics: metricsObserver(registry, assembly, labels),
    status: listening(new StatusCollector(cluster.spec)),
    statistics: listening(new StatisticsCollector(world.unixMs, cluster.models)),
    ui:
      options.ui === true
        ? new LivePage(cluster.spec.models, settings.policy.kind, () => fleet.gpus.known)
        : null,
    log: loggedCluster(events),
    scaling: settings.scaling ? new ScalingObserver(settings.scaling, assembly, registry, log) : null,
    limits: tenants.length === 0 ? null : { run: loggedLimits(events, tenants) },
    lengths: lengthsSeen(assembly, events),
    keeper:
      journal === null || options.journal === null ? null : keeping(options, options.journal, journal.path),
    journal,
  };
}

/** An observer of both the core and the events around it. */
function listening<T extends RunObserver & Partial<LiveEvents>>(collector: T) {
  return { run: collector, events: collector, collector };
}

function journalObserver(
  name: string,
  { log, world }: ServerOptions,
  registry: Registry,
  assembly: Assembly,
) {
  let hasFailed = false;
  readOnScrape(registry, 'escapement_journal_failed', () => [[[], Number(hasFailed)]]);
  const failed = ({ code, message }: EscapementError) => {
    hasFailed = true;
    log.error({ code }, `${message}; the journal ends there, and the server goes on without it`);
  };
  return new JournalObserver(name, assembly, failed, world);
}

function keeping(
  { log, journalKeepBytes, world }: ServerOptions,
  name: string,
  path: string,
): ClusterObserver {
  const events = {
    deleted: (journal: string, bytes: number) =>
      log.info({ journal, bytes }, 'deleted: the journals together exceeded --journal-keep'),
    outgrown: (journal: string, bytes: number) =>
      log.warn({ journal, bytes }, 'this journal alone is larger than --journal-keep, and it keeps growing'),
  };
  const keeper = new JournalKeeper(name, path, journalKeepBytes, events, world);
  return { ended: async () => keeper.close() };
}

/** Lengths of inputs, with advice in the log when other buckets would pad less. */
function lengthsSeen({ cluster }: Assembly, log: EventLog) {
  const lengths = new SeenLengths(
    cluster.spec.models,
    (model, { requests, shortest, longest, buckets, padding }) => {
      const { name } = cluster.spec.models[model];
      const seen = `the inputs of ${requests} requests were ${shortest} to ${longest} long`;
      const advice = `"buckets: [${buckets.join(', ')}]" with "fill" pads them by ${shareText(padding)}: escapement profile measure --buckets-from writes both`;
      log.say('info', { model: name }, `model ${name}: ${seen}; ${advice}`, name);
    },
  );
  return listening(lengths);
}

/** Prometheus metrics of a cluster. All workers have series, also those that never come: alerts need them. */
function metricsObserver(
  registry: Registry,
  { cluster, settings, fleet }: Assembly,
  models: ModelLabels,
): ClusterObserver {
  const { classes = [], tenants } = settings;
  const metrics = new ControllerMetrics(registry, cluster.spec.models, {
    classes: classes.map(({ name }) => name),
    tenants: (tenants?.list ?? []).map(({ name }) => name),
    models,
  });
  for (const { name } of fleet.links) metrics.worker(name, false);
  return listening(metrics);
}
