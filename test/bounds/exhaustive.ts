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

/**
 * A request of a pipeline: its steps in order, each with models of which any may serve a request, the steps that it waits
 * for and its number of requests.
 */
export interface Chain {
  readonly arrival: number;
  readonly slo: number;
  readonly steps: readonly {
    readonly models: readonly number[];
    readonly after: readonly number[];
    readonly count: number;
  }[];
}

/**
 * The most requests of pipelines that any schedule completes in time, by trying all: batches of requests of steps one
 * after another in every order, on every GPU, as early as what they wait for and that GPU allow. Messages take
 * `delay` each way. For about seven requests of steps.
 */
export function mostCompletable(
  chains: readonly Chain[],
  models: readonly ModelSpec[],
  gpus: number,
  delay: number,
): number {
  const tasks = chains.flatMap(({ steps }, c) => {
    const isNeeded = (s: number): boolean =>
      steps[s]!.count > 0 && (steps[s]!.after.length === 0 || steps[s]!.after.some(isNeeded));
    return steps.flatMap((step, s) =>
      isNeeded(s) ? Array.from({ length: step.count }, () => ({ c, s, models: step.models })) : [],
    );
  });
  const of = (c: number, s: number) => tasks.flatMap((task, t) => (task.c === c && task.s === s ? t : []));
  const ofStep = chains.map(({ steps }, c) => steps.map((_, s) => of(c, s)));
  /** End of a step as the scheduler learns it; Infinity: it is not over. */
  const overAt = (ends: readonly number[], c: number, s: number): number => {
    const own = ofStep[c]![s]!;
    const before = () => readyAt(ends, c, s);
    return own.length === 0 ? before() : Math.max(...own.map((t) => ends[t]! + delay));
  };
  const readyAt = (ends: readonly number[], c: number, s: number): number =>
    Math.max(chains[c]!.arrival, ...chains[c]!.steps[s]!.after.map((before) => overAt(ends, c, before)));
  const batches = Array.from({ length: 2 ** tasks.length }, (_, set) => set).flatMap((set) => {
    const members = tasks.flatMap((_, t) => ((set >> t) & 1 ? t : []));
    // Of several models that may serve all of them the fastest is best.
    const fitting = models.filter((_, m) => members.every((t) => tasks[t]!.models.includes(m)));
    const exec = Math.min(...fitting.map((one) => shortestExecution(one, 0, 0, members.length, 8)));
    return members.length === 0 || exec === Number.POSITIVE_INFINITY ? [] : { members, exec };
  });
  const known = new Map<string, number>();
  const most = (ends: readonly number[], freeAt: readonly number[]): number => {
    const key = `${ends.join()} ${freeAt.join()}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    let best = chains.filter((_, c) =>
      tasks.every((task, t) => task.c !== c || ends[t]! < Number.POSITIVE_INFINITY),
    ).length;
    for (const { members, exec } of batches) {
      if (members.some((t) => ends[t]! < Number.POSITIVE_INFINITY)) continue;
      const ready = Math.max(...members.map((t) => readyAt(ends, tasks[t]!.c, tasks[t]!.s))) + delay;
      const due =
        Math.min(...members.map((t) => chains[tasks[t]!.c]!.arrival + chains[tasks[t]!.c]!.slo)) - delay;
      for (const [gpu, free] of freeAt.entries()) {
        const end = Math.max(free, ready) + exec;
        if (end > due) continue;
        const next = ends.map((each, t) => (members.includes(t) ? end : each));
        best = Math.max(
          best,
          most(
            next,
            freeAt.with(gpu, end).sort((left, right) => left - right),
          ),
        );
      }
    }
    known.set(key, best);
    return best;
  };
  return most(Array(tasks.length).fill(Number.POSITIVE_INFINITY), Array(gpus).fill(0));
}
