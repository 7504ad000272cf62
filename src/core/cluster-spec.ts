import { EscapementError } from '../base/errors.js';
import { type Padding, unmixed } from './lengths.js';
import { checkModel, type ModelSpec, NO_MODEL } from './model.js';

/** Limit on models × GPUs: per-pair state fits into a few gigabytes up to here. */
const MAX_INSTANCES = 50e6;
/** A kind of GPU: equal INFER and LOAD times, equal memory. */
export interface GpuKind {
  readonly gpus: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
}

export interface ClusterSpec {
  readonly models: readonly ModelSpec[];
  /** Empty slots for models added at run time; default: none. */
  readonly spareModels?: number;
  /** Largest batch of models added at run time; default: that of the initial models. */
  readonly spareBatch?: number;
  readonly gpus: number;
  /** Absent GPUs that workers may bring later; default: none. */
  readonly spareGpus?: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** Kinds of GPUs in order of GPU number, in place of `pages`; default: one kind. */
  readonly kinds?: readonly GpuKind[];
  /** True if a GPU runs either a LOAD or an INFER, never both at once. */
  readonly oneLane?: boolean;
  /** Padding of inputs of different lengths in a batch; default: `batch`. `bucket` is for policies that batch by it. */
  readonly padding?: Padding;
}

/** Returns the cluster's models in schedulable form, followed by its spare slots. */
export function slotsOf({ models, padding, spareModels = 0 }: ClusterSpec): ModelSpec[] {
  return [
    ...models.map((model) => unmixed(model, padding)),
    ...Array.from({ length: spareModels }, () => NO_MODEL),
  ];
}

/** Throws coded errors for an invalid cluster. `gpus` and `models` include spare ones; `pages` is by kind. */
export function checkSpec(spec: ClusterSpec, gpus: number, models: number, pages: readonly number[]): void {
  if (!Number.isInteger(spec.gpus) || spec.gpus < 1) {
    throw new EscapementError('E_CONFIG_VALUE', `a cluster needs at least one GPU, found ${spec.gpus}`, {
      key: 'cluster.gpus',
    });
  }
  checkInstances(gpus, models);
  if (models === 0) {
    throw new EscapementError('E_CONFIG_VALUE', 'a cluster needs at least one model', { key: 'models' });
  }
  for (const model of spec.models) checkFits(checkModel(model, pages.length), Math.max(...pages));
}

/** Throws `E_CONFIG_VALUE` for more than fit into memory. */
export function checkInstances(gpus: number, models: number): void {
  if (gpus * models <= MAX_INSTANCES) return;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    `${gpus} GPUs times ${models} models is more than ${MAX_INSTANCES / 1e6} million instances: use fewer of either`,
    { key: 'cluster.gpus' },
  );
}

/** Kind of each GPU. GPUs are numbered kind by kind; spare ones are of the first kind. */
export function kindByGpu(kinds: readonly GpuKind[], gpus: number): Uint8Array {
  const kindOf = new Uint8Array(gpus);
  let first = 0;
  for (const [kind, { gpus: count }] of kinds.entries()) {
    kindOf.fill(kind, first, first + count);
    first += count;
  }
  return kindOf;
}

export function largestBatch({ batchSizes }: ModelSpec): number {
  return batchSizes[batchSizes.length - 1];
}

/** Throws `E_MODEL_TOO_LARGE` for a model that fits no GPU; `pages`: pages of the largest GPU. */
export function checkFits(model: ModelSpec, pages: number): void {
  if (model.pages <= pages) return;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages and a GPU has ${pages}: raise cluster.pages or leave the model out`,
    { key: 'cluster.pages' },
  );
}
