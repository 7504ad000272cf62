import type * as z from 'zod';
import { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
import type { ClusterConfig, Experiment } from './experiment.js';
import type { cellSchema } from './schema-cell.js';

/** One of several controllers, as an experiment describes it. */
export type CellSection = Readonly<z.output<typeof cellSchema>>;

/**
 * The part of an experiment that one of several controllers has: its GPUs, its models, and of the whole cluster's
 * requests those for its models. Throws `E_UNKNOWN_MODEL` for a model that the experiment lacks and `E_CONFIG_VALUE`
 * for GPUs that it lacks, a model that is named twice, and closed-loop clients, who ask again only when they are answered.
 */
export function cellOf(
  whole: Experiment,
  cell: CellSection,
  placeOf: (key: string) => ErrorPlace,
): Experiment {
  const fail = (key: string, what: string, code: ErrorCode = 'E_CONFIG_VALUE') =>
    new EscapementError(code, what, placeOf(key));
  const [from, to] = cell.gpus;
  if (to > whole.cluster.gpus) {
    throw fail('gpus', `the cluster has ${whole.cluster.gpus} GPUs; found ${from}:${to}`);
  }
  if (whole.workloads.some(({ kind }) => kind === 'closed-loop')) {
    throw fail('gpus', 'closed-loop clients ask when they are answered, by all cells: take another workload');
  }
  if (whole.cluster.kinds.length > 1) {
    throw fail('gpus', 'the GPUs of a cell are of one kind, and cluster.gpus lists several');
  }
  const modelOf = indicesOf(whole, cell, fail);
  const kept = whole.models.flatMap((_, i) => ((modelOf[i] as number) < 0 ? [] : [i]));
  const of = <T>(all: readonly T[]) => kept.map((i) => all[i] as T);
  return {
    ...whole,
    cluster: clusterOf(whole.cluster, from, to),
    models: of(whole.models),
    modelFiles: of(whole.modelFiles),
    spreads: whole.spreads.map(of),
    cell: {
      allModels: whole.models.map(({ name }) => name),
      modelOf,
      slices: whole.models.map(({ name }) => cell.requests[name] ?? [0, 1]),
    },
  };
}

function indicesOf(
  { models }: Experiment,
  cell: CellSection,
  fail: (key: string, what: string, code?: ErrorCode) => EscapementError,
): number[] {
  const names = new Set(models.map(({ name }) => name));
  const chosen = new Set<string>();
  for (const name of cell.models) {
    if (!names.has(name)) throw fail('models', `no model is named ${name}`, 'E_UNKNOWN_MODEL');
    if (chosen.has(name)) throw fail('models', `${name} is named twice`);
    chosen.add(name);
  }
  for (const name of Object.keys(cell.requests)) {
    if (!chosen.has(name)) throw fail('requests', `${name} is none of the cell's models`);
  }
  let next = 0;
  return models.map(({ name }) => (chosen.has(name) ? next++ : -1));
}

/** GPUs are dealt to workers in blocks; the cell has the workers that have any of its GPUs. */
function clusterOf(cluster: ClusterConfig, from: number, to: number): ClusterConfig {
  const { gpus, workers, kinds, gpuClock } = cluster;
  const workerOf = (gpu: number) => Math.floor((gpu * workers) / gpus);
  return {
    ...cluster,
    gpus: to - from,
    kinds: kinds.map((kind) => ({ ...kind, gpus: to - from, on: to - from })),
    workers: workerOf(to - 1) - workerOf(from) + 1,
    gpuClock: gpuClock
      .filter(({ gpu }) => gpu < 0 || (gpu >= from && gpu < to))
      .map((change) => (change.gpu < 0 ? change : { ...change, gpu: change.gpu - from })),
  };
}
