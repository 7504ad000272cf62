import type { Registry } from 'prom-client';
import { ControllerMetrics } from '../live/observe/telemetry/metrics.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** Counts what a cluster does, for Prometheus. `workers`: all by name, also those that never come: alerts need their series. */
export function metricsObserver(
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
