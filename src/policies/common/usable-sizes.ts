import type { ModelSpec } from '../../core/model.js';

/** By model: number of batch sizes up to `maxBatch`; at least the first, which is 1. */
export function usableSizes(models: readonly ModelSpec[], maxBatch: number): Int32Array {
  return Int32Array.from(models, (model) => usableSizesOf(model, maxBatch));
}

/** Number of the model's batch sizes up to `maxBatch`; at least the first, which is 1. */
export function usableSizesOf({ batchSizes }: ModelSpec, maxBatch: number): number {
  const above = batchSizes.findIndex((size) => size > maxBatch);
  return above < 0 ? batchSizes.length : Math.max(1, above);
}
