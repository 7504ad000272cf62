import { EscapementError } from '../../base/errors.js';
import type { ClusterSpec, GpuKind } from '../../core/cluster-spec.js';
import { kindOfWorker } from '../gpu-kind.js';
import type { WorkerDescription } from '../messages.js';
import type { ServedModel } from '../model.js';
import { onKinds } from './models-by-kind.js';

/** Slots for models that come while the controller runs, and the largest batch that they may have. */
const SPARE_MODELS = 256;
const SPARE_BATCH = 1024;

/** The cluster that the core sees: the GPUs of all workers, numbered worker by worker. */
export interface WorkerCluster {
  /** `models` is kept up to date as models come: who follows a controller may look up what is at an index. */
  readonly spec: ClusterSpec;
  /** Those that it starts with. */
  readonly models: readonly ServedModel[];
  /** Names of the kinds of GPUs, by index; at least one. */
  readonly kinds: readonly string[];
  readonly pageBytes: number;
}

/**
 * Puts workers together to one cluster. All must serve the same models and have the same kind of lanes, because any
 * GPU may be given any action. Each kind of GPUs has times of its own; where profiles differ within a kind, the slower figure
 * counts, and the smaller weights cache. Throws `E_WORKER` that names what differs.
 */
export function clusterOfWorkers(
  workers: readonly { readonly name: string; readonly description: WorkerDescription }[],
  /** With those of workers that are still to come. */
  gpus: number = workers.reduce((sum, { description }) => sum + description.gpus.length, 0),
  /** For workers that nothing is known of. */
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

/** All GPUs are away at the start, and say what they are when they come: which kind they count with until then does not matter. */
function kindsOf(pages: readonly number[], gpus: number): GpuKind[] {
  return pages.map((each, kind) => ({ gpus: kind === 0 ? gpus : 0, pages: each }));
}

/** Index of the kind of a worker that goes with the cluster. */
export function kindIn({ kinds }: WorkerCluster, description: WorkerDescription): number {
  return kinds.indexOf(kindOfWorker(description));
}

/** Pages that the scheduler counts on in GPUs of a kind. */
export function pagesIn({ pages, kinds }: ClusterSpec, kind: number): number {
  return kinds === undefined ? pages : kinds[kind].pages;
}

/** Why a worker that comes later, or comes back, can't join the cluster, and what to do about it; empty: it can. */
export function whyNotFitting(cluster: WorkerCluster, description: WorkerDescription): string {
  const { gpus, pageBytes, models } = description;
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
  return differentlyRun(cluster, { models });
}

/** Of the models that a GPU of a kind holds, those for which it has pages in the cluster: its own cache may be larger. */
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
  throw new EscapementError(
    'E_WORKER',
    `workers ${first.name} and ${other.name} don't go together: ${problem}`,
  );
}

/** What keeps two workers from making a cluster; empty: nothing. */
export function whyNotTogether(first: WorkerDescription, other: WorkerDescription): string {
  if (other.gpus.some(({ oneLane }) => oneLane !== first.gpus[0].oneLane))
    return 'their devices have different kinds of lanes: use one provider for all';
  if (other.pageBytes !== first.pageBytes) return 'their page sizes differ';
  return differentModels(first, other);
}

function differentModels(left: Models, right: Models): string {
  const names = ({ models }: Models) => new Set(models.map(({ spec }) => spec.name));
  const [here, there] = [names(left), names(right)];
  const missing = [...here].find((name) => !there.has(name)) ?? [...there].find((name) => !here.has(name));
  if (missing !== undefined) return `model ${missing} is on one of them only`;
  for (let m = 0; m < left.models.length; m++) {
    const different = differentModel(left.models[m], right.models[m]);
    if (different !== '') return different;
  }
  return '';
}

/** What keeps workers from running what is the same version at the same index; other models can be brought into line. */
function differentlyRun(left: Models, right: Models): string {
  for (const [m, model] of right.models.entries()) {
    const other = left.models[m];
    if (other?.spec.name !== model.spec.name || other.version !== model.version) continue;
    const different = differentModel(other, model);
    if (different !== '') return different;
  }
  return '';
}

type Models = Pick<WorkerDescription, 'models'>;

/** What keeps two workers from running one model together; empty: nothing. */
export function differentModel(a: ServedModel, b: ServedModel): string {
  if (a.spec.name !== b.spec.name) return 'their models come in a different order';
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
