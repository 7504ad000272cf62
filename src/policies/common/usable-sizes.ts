import type { ModelSpec } from '../../core/model.js';

/** How many of each model's batch sizes are not above `maxBatch`; at least the first, which is 1. */
export function usableSizes(models: readonly ModelSpec[], maxBatch: number): Int32Array {
  return Int32Array.from(models, (model) => usableSizesOf(model, maxBatch));
}

/** The same for one model. */
export function usableSizesOf({ batchSizes }: ModelSpec, maxBatch: number): number {
  const above = batchSizes.findIndex((size) => size > maxBatch);
  return above < 0 ? batchSizes.length : Math.max(1, above);
}
