import type { Cluster } from './cluster.js';
import { TIMELINE_FUTURE_NS } from './timeline.js';

/**
 * Optimistic latency of a request for `model`, padded to `bucket`, arriving now behind `queued` others for the same
 * model: the booked part of a lane, the preceding batches at the most efficient size, its own INFER; and a LOAD first
 * if no GPU holds the model or is loading it. Queues of other models are ignored, because more urgent requests go
 * before them, and a LOAD in progress counts as done; so an SLO shorter than this cannot be met. Infinity while no GPU
 * is in service.
 */
export function predictLatencyNs(
  cluster: Cluster,
  model: number,
  queued: number,
  nowNs: number,
  bucket = 0,
): number {
  const { held, exec, rows } = cluster;
  const copies = held.count(model);
  const row = rows.at(model, 0, bucket);
  // The usual case: the new request joins those that wait.
  const joins = queued < rows.largestBatch[model];
  const queueNs = joins ? 0 : drainNs(cluster, model, queued, bucket) / Math.max(1, copies);
  // No GPU can be sooner than an idle lane on the fastest GPU, so the scan of several may stop there, of a thousand GPUs
  // perhaps at the first.
  const leastNs = copies > 1 ? TIMELINE_FUTURE_NS + cluster.shortestExecNs(model, bucket) : 0;
  let warmNs = Number.POSITIVE_INFINITY;
  for (let left = copies, gpu = -1; left > 0 && warmNs > leastNs; left--) {
    gpu = held.next(model, gpu + 1);
    const onGpuNs = exec[gpu].bookedNs(nowNs) + cluster.nsOnClock(gpu, row);
    if (onGpuNs < warmNs) warmNs = onGpuNs;
  }
  if (warmNs < Number.POSITIVE_INFINITY) return warmNs + queueNs;
  return coldNs(cluster, model, nowNs, bucket) + queueNs;
}

/** Shortest time of a LOAD and an INFER. */
function coldNs(cluster: Cluster, model: number, nowNs: number, bucket: number): number {
  const { up, weights } = cluster;
  const leastNs = TIMELINE_FUTURE_NS + cluster.shortestExecNs(model, bucket) + cluster.loadNs(model);
  let bestNs = Number.POSITIVE_INFINITY;
  for (let gpu = up.next(0); gpu >= 0 && bestNs > leastNs; gpu = up.next(gpu + 1)) {
    if (!cluster.suits(gpu, model)) continue;
    const loadedNs = weights[gpu].bookedNs(nowNs) + cluster.loadNsOn(gpu, model);
    bestNs = Math.min(bestNs, loadedNs + cluster.execNsAt(gpu, model, 0, bucket));
  }
  return bestNs;
}

/** Time that one GPU needs for the full batches among `queued` requests; the rest may share the new one's. */
function drainNs(cluster: Cluster, model: number, queued: number, bucket: number): number {
  const { batchSizes } = cluster.models[model];
  let bestNs = Number.POSITIVE_INFINITY;
  for (let b = 0; b < batchSizes.length; b++) {
    bestNs = Math.min(bestNs, Math.floor(queued / batchSizes[b]) * cluster.nominalExecNsAt(model, b, bucket));
  }
  return bestNs;
}
