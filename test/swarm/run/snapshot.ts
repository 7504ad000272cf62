import type { Cluster } from '../../../src/core/cluster.js';
import type { Server } from '../../../src/serve/server.js';
import type { GpuSnapshot, HistoryEvent } from '../history/history.js';

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/** What a controller believes, by its scheduler's state and its metrics in Prometheus' text format. */
export function snapshotOf(
  { controller }: Server,
  metrics: string,
): Pick<Snapshot, 'drives' | 'gpus' | 'requests' | 'actions' | 'metrics'> {
  const { cluster, requests } = controller.core;
  return {
    drives: cluster.up.count > 0,
    gpus: gpusOf(cluster, metrics),
    requests: requests.size,
    actions: outstandingOf(cluster),
    metrics,
  };
}

/** LOADs and INFERs without a result. */
export function outstandingOf({ exec, weights }: Cluster): number {
  return [...exec, ...weights].reduce((sum, lane) => sum + (lane.isClosed ? 0 : lane.outstanding), 0);
}

const GPU_UP = /^escapement_gpu_up\{gpu="(\d+)",worker="([^":]*).*\} ([01])$/gm;

/** Those that are up. The numbers of a worker's GPUs ascend as they do on the worker. */
function gpusOf({ models, warm, pages }: Cluster, metrics: string): GpuSnapshot[] {
  const seen = new Map<string, number>();
  return [...metrics.matchAll(GPU_UP)].flatMap(([, number, worker, isUp]) => {
    const gpu = Number(number);
    const local = seen.get(worker) ?? 0;
    seen.set(worker, local + 1);
    if (isUp === '0') return [];
    const held = models.flatMap(({ name }, model) => (warm.has(model, gpu) ? name : []));
    return { worker, gpu: local, warm: held, freePages: pages[gpu].free };
  });
}
