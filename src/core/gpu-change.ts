import { invariant } from '../base/invariant.js';
import type { Cluster } from './cluster.js';
import type { Policy } from './policy.js';

/** A GPU left (`present` is null), drains, or is in service with these models, as this kind. */
export interface GpuChange {
  readonly gpu: number;
  readonly present: readonly number[] | null | 'drains';
  readonly kind: number;
}

export function changeGpu(cluster: Cluster, policy: Policy, change: GpuChange, nowNs: number): void {
  const { gpu, present } = change;
  if (present === null) gpuWent(cluster, policy, gpu, nowNs);
  else if (present === 'drains') gpuDrains(cluster, policy, gpu, nowNs);
  else gpuCame(cluster, policy, change, present, nowNs);
}

/** Stops sending the GPU actions; outstanding ones continue, and it keeps its weights until it leaves. */
function gpuDrains(cluster: Cluster, policy: Policy, gpu: number, nowNs: number): void {
  cluster.setUp(gpu, false);
  policy.lanesChanged(gpu, nowNs);
}

/** Takes a GPU out of the cluster: it holds nothing, and its lanes are unavailable. */
function gpuWent(cluster: Cluster, policy: Policy, gpu: number, nowNs: number): void {
  const { held, warm, models, exec, weights } = cluster;
  invariant(exec[gpu].isEmpty && weights[gpu].isEmpty, 'a GPU goes when nothing of it is outstanding');
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

/** Puts a GPU into service with the weights it already has. */
function gpuCame(
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
