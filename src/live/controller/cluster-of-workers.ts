import { EscapementError } from '../../base/errors.js';
import type { ClusterSpec } from '../../core/cluster-spec.js';
import type { WorkerDescription } from '../messages.js';
import type { ServedModel } from '../model.js';

/** Slots for models that come while the controller runs, and the largest batch that they may have. */
const SPARE_MODELS = 256;
const SPARE_BATCH = 1024;

/** The cluster that the core sees: the GPUs of all workers, numbered worker by worker. */
export interface WorkerCluster {
  /** `models` is kept up to date as models come: who follows a controller may look up what is at an index. */
  readonly spec: ClusterSpec;
  /** Those that it starts with. */
  readonly models: readonly ServedModel[];
  readonly pageBytes: number;
}

/**
 * Puts workers together to one cluster. All must serve the same models and have the same kind of lanes, because any
 * GPU may be given any action; where profiles differ, the slower figure counts, and the smaller weights cache.
 * Throws `E_WORKER` that names what differs.
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
  const present = workers.flatMap(({ description }) => description.gpus);
  const models = first.description.models.map((model, m) =>
    slowest(
      model,
      workers.map(({ description }) => description.models[m]),
    ),
  );
  return {
    spec: {
      models: models.map(({ spec }) => spec),
      spareModels: Math.max(SPARE_MODELS, models.length),
      spareBatch: SPARE_BATCH,
      gpus,
      spareGpus,
      pages: Math.min(...present.map(({ pages }) => pages)),
      oneLane: present[0].oneLane,
    },
    models,
    pageBytes: first.description.pageBytes,
  };
}

/** Why a worker that comes later, or comes back, can't join the cluster, and what to do about it; empty: it can. */
export function whyNotFitting(
  cluster: WorkerCluster,
  { gpus, pageBytes, models }: WorkerDescription,
): string {
  const { oneLane = false, pages } = cluster.spec;
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

/** Of the models that a GPU holds, those for which it has pages in the cluster: its own cache may be larger. */
export function fitting(
  present: readonly number[],
  { models, pages }: ClusterSpec,
): { readonly kept: number[]; readonly excess: number[] } {
  const kept: number[] = [];
  const excess: number[] = [];
  let free = pages;
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

/** A model as all workers can be expected to run it. */
export function slowest(model: ServedModel, everywhere: readonly ServedModel[]): ServedModel {
  const specs = everywhere.map(({ spec }) => spec);
  return {
    ...model,
    spec: {
      ...model.spec,
      pages: Math.max(...specs.map(({ pages }) => pages)),
      loadNs: Math.max(...specs.map(({ loadNs }) => loadNs)),
      execNs: model.spec.execNs.map((_, b) => Math.max(...specs.map(({ execNs }) => execNs[b]))),
    },
  };
}
