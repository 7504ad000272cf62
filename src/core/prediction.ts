import type { Cluster } from './cluster.js';
import { TIMELINE_FUTURE_NS } from './timeline.js';

/**
 * The soonest that a request for `model`, padded to `bucket`, arriving now, with `queued` others for it going first, can be expected to be
 * answered, as time from now: the booked part of a lane, the batches before it at the size that serves them
 * fastest, its own INFER; and a LOAD first where no GPU holds the model or is loading it. Other models' queues are
 * not counted, because more urgent requests go before them, and a LOAD under way counts as done: what
 * this says cannot be met, cannot. Infinity while no GPU is there.
 */
export function predictLatencyNs(
  cluster: Cluster,
  model: number,
  queued: number,
  nowNs: number,
  bucket = 0,
): number {
  const { held, exec, weights } = cluster;
  // Where a lane is free on a GPU as fast as any nothing can be sooner: of a thousand GPUs one may be enough to look at.
  const leastNs = nowNs + TIMELINE_FUTURE_NS + cluster.shortestExecNs(model, bucket);
  let bestNs = Number.POSITIVE_INFINITY;
  for (let gpu = held.next(model, 0); gpu >= 0 && bestNs > leastNs; gpu = held.next(model, gpu + 1)) {
    bestNs = Math.min(bestNs, exec[gpu].availableNs(nowNs) + cluster.execNsAt(gpu, model, 0, bucket));
  }
  if (bestNs === Number.POSITIVE_INFINITY) {
    const leastLoadedNs = leastNs + cluster.loadNs(model);
    const { up } = cluster;
    for (let gpu = up.next(0); gpu >= 0 && bestNs > leastLoadedNs; gpu = up.next(gpu + 1)) {
      if (!cluster.suits(gpu, model)) continue;
      const loadedNs = weights[gpu].availableNs(nowNs) + cluster.loadNsOn(gpu, model);
      bestNs = Math.min(bestNs, loadedNs + cluster.execNsAt(gpu, model, 0, bucket));
    }
  }
  return bestNs - nowNs + drainNs(cluster, model, queued, bucket) / Math.max(1, held.count(model));
}

/** Time that one GPU needs for the full batches among `queued` requests: the rest may share the last one's. */
function drainNs(cluster: Cluster, model: number, queued: number, bucket: number): number {
  const { batchSizes } = cluster.models[model];
  let bestNs = Number.POSITIVE_INFINITY;
  for (let b = 0; b < batchSizes.length; b++) {
    bestNs = Math.min(bestNs, Math.floor(queued / batchSizes[b]) * cluster.nominalExecNsAt(model, b, bucket));
  }
  return bestNs;
}
