import type { OfferedRequests } from '../../src/bounds/requests.js';
import type { BoundedCluster } from '../../src/bounds/upper-bounds.js';
import type { GpuKind } from '../../src/core/cluster-spec.js';
import type { ModelSpec } from '../../src/core/model.js';

/**
 * The most requests, or the most weight of requests, that any schedule serves in time, by trying all: batches one after another in every order, each
 * of every subset of one model's requests, on every GPU, as early as its requests and that GPU allow. Starting
 * earlier never hurts, so no better schedule is left out. For about seven requests. Each GPU takes what its kind takes, and
 * serves the models that fit into its memory. A cold cluster loads its models one after another on each GPU, in every order.
 */
export function mostServable(requests: OfferedRequests, cluster: BoundedCluster): number {
  const { gpus, delayNs = 0, startsCold = false } = cluster;
  if (!startsCold) return mostServableFrom(requests, cluster, new Array(gpus).fill([]));
  const orders = loadOrders(cluster.models, delayNs);
  const choices = Array.from({ length: gpus }).reduce<number[][][]>(
    (before) => before.flatMap((chosen) => orders.map((order) => [...chosen, order])),
    [[]],
  );
  return Math.max(...choices.map((warmNs) => mostServableFrom(requests, cluster, warmNs)));
}

/** For each order of LOADs, the times by model at which they end. */
function loadOrders(models: readonly ModelSpec[], fromNs: number): number[][] {
  const extend = (endsNs: readonly number[], nowNs: number): number[][] => {
    const left = models.flatMap((_, m) => (endsNs[m] === undefined ? [m] : []));
    if (left.length === 0) return [[...endsNs]];
    return left.flatMap((m) => {
      const next = [...endsNs];
      next[m] = nowNs + models[m].loadNs;
      return extend(next, next[m]);
    });
  };
  return extend(new Array(models.length), fromNs);
}

/** `warmNs`: by GPU and model, time from which it can serve it; absent: 0. */
function mostServableFrom(
  requests: OfferedRequests,
  cluster: BoundedCluster,
  warmNs: readonly (readonly number[])[],
): number {
  const kinds = cluster.kinds ?? [{ gpus: cluster.gpus, pages: Number.POSITIVE_INFINITY }];
  const kindOf = kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind));
  const batches = possibleBatches(requests, cluster, kinds);
  const known = new Map<string, number>();
  const most = (served: number, freeNs: readonly number[]): number => {
    const key = `${served} ${freeNs.join(' ')}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    let best = 0;
    for (const { members, model, worth, readyNs, dueNs, execNs } of batches) {
      if ((members & served) !== 0) continue;
      for (const [gpu, free] of freeNs.entries()) {
        const endNs = Math.max(free, readyNs, warmNs[gpu][model] ?? 0) + execNs[kindOf[gpu]];
        if (endNs > dueNs) continue;
        const next = freeNs.with(gpu, endNs);
        // GPUs that are alike may change places: fewer cases.
        if (kinds.length === 1 && warmNs[0].length === 0) next.sort((left, right) => left - right);
        best = Math.max(best, worth + most(served | members, next));
      }
    }
    known.set(key, best);
    return best;
  };
  return most(0, new Array(cluster.gpus).fill(0));
}

interface Batch {
  /** Bit set of requests. */
  readonly members: number;
  readonly model: number;
  /** Its requests, or their weight. */
  readonly worth: number;
  readonly readyNs: number;
  readonly dueNs: number;
  /** By kind; Infinity: it can't run there. */
  readonly execNs: readonly number[];
}

function possibleBatches(
  requests: OfferedRequests,
  { models, maxBatch = 8, delayNs = 0 }: BoundedCluster,
  kinds: readonly GpuKind[],
): Batch[] {
  const { count, model, arrivalNs, sloNs, weight, bucket } = requests;
  const batches: Batch[] = [];
  for (let members = 1; members < 1 << count; members++) {
    const indices = Array.from({ length: count }, (_, i) => i).filter((i) => (members >> i) & 1);
    const of = model[indices[0]];
    if (indices.some((i) => model[i] !== of)) continue;
    const execNs = kinds.map(({ pages }, kind) =>
      models[of].pages > pages
        ? Number.POSITIVE_INFINITY
        : shortestExecution(models[of], kind, longestOf(indices, bucket), indices.length, maxBatch),
    );
    const readyNs = Math.max(...indices.map((i) => arrivalNs[i])) + delayNs;
    const dueNs = Math.min(...indices.map((i) => arrivalNs[i] + sloNs[i])) - delayNs;
    if (readyNs + Math.min(...execNs) <= dueNs)
      batches.push({ members, model: of, worth: worthOf(indices, weight), readyNs, dueNs, execNs });
  }
  return batches;
}

function worthOf(indices: readonly number[], weight: Float64Array | undefined): number {
  return indices.reduce((sum, i) => sum + (weight?.[i] ?? 1), 0);
}

function longestOf(indices: readonly number[], bucket: Uint8Array | undefined): number {
  return Math.max(...indices.map((i) => bucket?.[i] ?? 0));
}

/** Over all sizes that hold so many, and all lengths that hold the longest. */
function shortestExecution(
  model: ModelSpec,
  kind: number,
  bucket: number,
  count: number,
  maxBatch: number,
): number {
  const { batchSizes } = model;
  const { execNs, execNsByLength = [execNs] } = [model, ...(model.otherKinds ?? [])][kind];
  const fitting = execNsByLength
    .slice(bucket)
    .flatMap((row) => row.filter((_, i) => batchSizes[i] >= count && (i === 0 || batchSizes[i] <= maxBatch)));
  return Math.min(...fitting);
}
