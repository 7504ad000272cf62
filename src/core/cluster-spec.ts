import { EscapementError } from '../base/errors.js';
import { type Padding, unmixed } from './lengths.js';
import { checkModel, type ModelSpec, NO_MODEL } from './model.js';

/** What is kept for each model on each GPU fits into a few gigabytes up to here. */
const MAX_INSTANCES = 50e6;
/** GPUs that are alike: INFERs and LOADs take the same time on each, and they have the same memory. */
export interface GpuKind {
  readonly gpus: number;
  /** Pages of each one's weights cache. */
  readonly pages: number;
}

export interface ClusterSpec {
  readonly models: readonly ModelSpec[];
  /** Slots behind them for models that come while it runs; default: none. */
  readonly spareModels?: number;
  /** Largest batch of the models that may come; default: that of those there are. */
  readonly spareBatch?: number;
  readonly gpus: number;
  /** GPUs behind them that are away until workers bring them; default: none. */
  readonly spareGpus?: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** The kinds of those GPUs in order of their numbers, in place of `pages`; default: one. */
  readonly kinds?: readonly GpuKind[];
  /** True: a GPU runs a LOAD or an INFER, never both at once. */
  readonly oneLane?: boolean;
  /** How inputs of different lengths share a batch; default: `batch`. `bucket` is for policies that batch by length. */
  readonly padding?: Padding;
}

/** Its models as they can be scheduled, and its spare slots. */
export function slotsOf({ models, padding, spareModels = 0 }: ClusterSpec): ModelSpec[] {
  return [
    ...models.map((model) => unmixed(model, padding)),
    ...Array.from({ length: spareModels }, () => NO_MODEL),
  ];
}

/** Throws coded errors for a cluster that can't be, with so many GPUs and models, spare ones included; `pages` is by kind. */
export function checkSpec(spec: ClusterSpec, gpus: number, models: number, pages: readonly number[]): void {
  if (!Number.isInteger(spec.gpus) || spec.gpus < 1) {
    throw new EscapementError('E_CONFIG_VALUE', `a cluster needs at least one GPU, found ${spec.gpus}`, {
      key: 'cluster.gpus',
    });
  }
  if (gpus * models > MAX_INSTANCES) {
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `${gpus} GPUs times ${models} models is more than ${MAX_INSTANCES / 1e6} million instances: use fewer of either`,
      { key: 'cluster.gpus' },
    );
  }
  if (models === 0) {
    throw new EscapementError('E_CONFIG_VALUE', 'a cluster needs at least one model', { key: 'models' });
  }
  for (const model of spec.models) checkFits(checkModel(model, pages.length), Math.max(...pages));
}

/** The kind of each GPU, whose numbers follow each other kind by kind; of spare ones, the first. */
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

/** Throws `E_MODEL_TOO_LARGE` for a model that no GPU has the memory for; `pages`: the most that one has. */
export function checkFits(model: ModelSpec, pages: number): void {
  if (model.pages <= pages) return;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages and a GPU has ${pages}: raise cluster.pages or leave the model out`,
    { key: 'cluster.pages' },
  );
}
