import { EscapementError } from '../../base/errors.js';
import type { ClusterSpec, GpuKind } from '../../core/cluster-spec.js';
import { bucketOf, timesOfBucket } from '../../core/lengths.js';
import type { ModelTimes } from '../../core/model.js';
import type { WorkerDescription } from '../messages.js';
import { kindOfWorker } from '../messages.js';
import type { ServedModel } from '../model.js';

/** Slots for models added at run time, and their largest batch. */
const SPARE_MODELS = 256;
const SPARE_BATCH = 1024;

/** The core's view of the cluster: GPUs of all workers, numbered worker by worker. */
export interface WorkerCluster {
  /** `models` is kept up to date, so that observers of a controller can look up an index. */
  readonly spec: ClusterSpec;
  /** Initial models. */
  readonly models: readonly ServedModel[];
  /** Names of the kinds of GPUs, by index; at least one. */
  readonly kinds: readonly string[];
  readonly pageBytes: number;
}

/**
 * Combines workers into one cluster. All must have the same kind of lanes, and those of this process the same models;
 * others have none at the start. Each kind of GPU has times of its own; if profiles differ within a kind, the slower
 * figure counts, and the smaller weights cache. Throws `E_WORKER` that names the difference.
 */
export function clusterOfWorkers(
  workers: readonly { readonly name: string; readonly description: WorkerDescription }[],
  /** Total number, including expected workers. */
  gpus: number = workers.reduce((sum, { description }) => sum + description.gpus.length, 0),
  /** For unknown workers. */
  spareGpus = 0,
): WorkerCluster {
  const [first, ...others] = workers;
  for (const other of others) checkSame(first, other);
  const kinds = [...new Set(workers.map(({ description }) => kindOfWorker(description)))];
  const models = first.description.models.map((_, m) =>
    onKinds(
      workers.map(({ description }) => ({
        kind: kinds.indexOf(kindOfWorker(description)),
        model: description.models[m],
      })),
      kinds.length,
    ),
  );
  const pages = kinds.map((kind) => smallestCache(workers, kind));
  return {
    spec: {
      models: models.map(({ spec }) => spec),
      spareModels: Math.max(SPARE_MODELS, models.length),
      spareBatch: SPARE_BATCH,
      gpus,
      spareGpus,
      pages: pages[0],
      ...(kinds.length === 1 ? {} : { kinds: kindsOf(pages, gpus) }),
      oneLane: first.description.gpus[0].oneLane,
    },
    models,
    kinds,
    pageBytes: first.description.pageBytes,
  };
}

function smallestCache(workers: readonly NamedWorker[], kind: string): number {
  const ofKind = workers.filter(({ description }) => kindOfWorker(description) === kind);
  return Math.min(...ofKind.flatMap(({ description }) => description.gpus.map(({ pages }) => pages)));
}

/** All GPUs are absent at the start, and are described when they arrive: their kind until then is irrelevant. */
function kindsOf(pages: readonly number[], gpus: number): GpuKind[] {
  return pages.map((each, kind) => ({ gpus: kind === 0 ? gpus : 0, pages: each }));
}

/** Index of a fitting worker's kind. */
export function kindIn({ kinds }: WorkerCluster, description: WorkerDescription): number {
  return kinds.indexOf(kindOfWorker(description));
}

/** Number of pages of a GPU that the scheduler assumes for a kind. */
export function pagesIn({ pages, kinds }: ClusterSpec, kind: number): number {
  return kinds === undefined ? pages : kinds[kind].pages;
}

/** Reason, with advice, why a later or returning worker can't join the cluster; empty: it can. */
export function whyNotFitting(cluster: WorkerCluster, description: WorkerDescription): string {
  const { gpus, pageBytes } = description;
  const kind = kindIn(cluster, description);
  if (kind < 0)
    return `its GPUs are of kind ${kindOfWorker(description)}, of which there were none at the start, only ${cluster.kinds.join(', ')}: start the controller again when a worker of each kind is there (--min-workers)`;
  const { oneLane = false } = cluster.spec;
  const pages = pagesIn(cluster.spec, kind);
  if (pageBytes !== cluster.pageBytes)
    return `its pages have ${pageBytes} bytes, those of the cluster ${cluster.pageBytes}: start it with the same --page-size`;
  for (let gpu = 0; gpu < gpus.length; gpu++) {
    if (gpus[gpu].oneLane !== oneLane)
      return `GPU ${gpu} has another kind of lanes: start it with the same --device as the others`;
    if (gpus[gpu].pages < pages)
      return `the weights cache of GPU ${gpu} has ${gpus[gpu].pages} pages, and the scheduler counts on ${pages}: start it with more --memory, or start the controller again`;
  }
  return '';
}

/** Models held by a GPU of a kind for which it has pages in the cluster: its own cache may be larger. */
export function fitting(
  present: readonly number[],
  spec: ClusterSpec,
  kind: number,
): { readonly kept: number[]; readonly excess: number[] } {
  const { models } = spec;
  const kept: number[] = [];
  const excess: number[] = [];
  let free = pagesIn(spec, kind);
  for (const model of present) {
    const fits = models[model].pages <= free;
    if (fits) free -= models[model].pages;
    (fits ? kept : excess).push(model);
  }
  return { kept, excess };
}

interface NamedWorker {
  readonly name: string;
  readonly description: WorkerDescription;
}

function checkSame(first: NamedWorker, other: NamedWorker): void {
  const problem = whyNotTogether(first.description, other.description);
  if (problem === '') return;
  throw new EscapementError('E_WORKER', `workers ${first.name} and ${other.name} don't match: ${problem}`);
}

/** Reason why two workers can't form a cluster; empty: they can. */
export function whyNotTogether(first: WorkerDescription, other: WorkerDescription): string {
  if (other.gpus.some(({ oneLane }) => oneLane !== first.gpus[0].oneLane))
    return 'their devices have different kinds of lanes: use one provider for all';
  return other.pageBytes === first.pageBytes ? '' : 'their page sizes differ';
}

/** Reason why two workers can't both run one model; empty: they can. */
export function differentModel(a: ServedModel, b: ServedModel): string {
  if (a.version !== b.version)
    return `model ${a.spec.name} is version ${a.version} there and ${b.version} here`;
  if (JSON.stringify(a.signature) !== JSON.stringify(b.signature)) {
    return `model ${a.spec.name} has other inputs or outputs`;
  }
  if (String(a.spec.batchSizes) !== String(b.spec.batchSizes)) {
    return `model ${a.spec.name} has batch sizes ${b.spec.batchSizes} there and ${a.spec.batchSizes} here`;
  }
  return '';
}

/** A model as run by a worker with GPUs of a kind. */
interface ModelOfKind {
  /** Index of the kind. */
  readonly kind: number;
  readonly model: ServedModel;
}

/**
 * A model as all workers (at least one) can be expected to run it, with times on each of this many kinds: those of the
 * slowest of its workers. A kind without a worker counts as slow as the slowest, until it is measured.
 */
export function onKinds(everywhere: readonly ModelOfKind[], kinds: number): ServedModel {
  const [{ model }] = everywhere;
  const all = everywhere.map((each) => each.model);
  const times = Array.from({ length: kinds }, (_, kind) => {
    const own = everywhere.flatMap((each) => (each.kind === kind ? each.model : []));
    return slowest(own.length === 0 ? all : own, model.spec.lengths);
  });
  const [first, ...others] = times as [ModelTimes, ...ModelTimes[]];
  return {
    ...model,
    isProvisional: all.some(({ isProvisional }) => isProvisional),
    spec: {
      ...model.spec,
      pages: Math.max(...all.map(({ spec }) => spec.pages)),
      ...first,
      ...(others.length === 0 ? {} : { otherKinds: others }),
    },
  };
}

/** `lengths`: lengths of the result; workers may have measured others if inputs are not padded. */
function slowest(models: readonly ServedModel[], lengths?: readonly number[]): ModelTimes {
  const specs = models.map(({ spec }) => spec);
  const loadNs = Math.max(...specs.map((spec) => spec.loadNs));
  if (lengths === undefined) return { loadNs, execNs: slowestOf(specs.map(({ execNs }) => execNs)) };
  const execNsByLength = lengths.map((length) =>
    slowestOf(specs.map((spec) => timesOfBucket(spec, bucketOf(spec, length)))),
  );
  return { loadNs, execNs: execNsByLength[lengths.length - 1], execNsByLength };
}

function slowestOf([first, ...others]: readonly (readonly number[])[]): number[] {
  return first.map((ns, b) => Math.max(ns, ...others.map((other) => other[b])));
}
