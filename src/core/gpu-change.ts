import type { Cluster } from './cluster.js';
import type { Policy } from './policy.js';

/** A GPU went (`present` is null) or is there with these models, as one of this kind. */
export interface GpuChange {
  readonly gpu: number;
  readonly present: readonly number[] | null;
  readonly kind: number;
}

/** Takes a GPU out of the cluster: it holds nothing, and its lanes are never available. */
export function gpuWent(cluster: Cluster, policy: Policy, gpu: number, nowNs: number): void {
  const { held, warm, models } = cluster;
  cluster.setUp(gpu, false);
  cluster.bars.forgetGpu(gpu);
  for (let model = 0; model < models.length; model++) {
    if (!held.delete(model, gpu)) continue;
    warm.delete(model, gpu);
    cluster.pages[gpu].release(models[model].pages);
    policy.weightsLost(gpu, model, nowNs);
  }
  policy.lanesChanged(gpu, nowNs);
}

/** Puts a GPU into service with the weights that are there already. */
export function gpuCame(
  cluster: Cluster,
  policy: Policy,
  { gpu, kind }: GpuChange,
  present: readonly number[],
  nowNs: number,
): void {
  if (!cluster.up.has(gpu)) cluster.setKind(gpu, kind);
  cluster.setUp(gpu, true);
  for (const model of present) {
    if (!cluster.held.add(model, gpu)) continue;
    cluster.pages[gpu].take(cluster.models[model].pages);
    cluster.warm.add(model, gpu);
    policy.weightsFound(gpu, model, nowNs);
  }
  policy.lanesChanged(gpu, nowNs);
}
