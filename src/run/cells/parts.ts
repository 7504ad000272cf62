import type { MeasuredLoad } from './measure-load.js';

/** What is dealt to cells: a model, or an equal part of the requests of one that needs several cells. */
export interface Part {
  /** Index among the models. */
  readonly model: number;
  /** Slice of the model's requests. */
  readonly from: number;
  readonly to: number;
  /** GPUs that it keeps busy, in each interval. */
  readonly load: Float64Array;
  /** The same, mean over the run. */
  readonly mean: number;
  /** Pages of the weights cache. */
  readonly pages: number;
}

/**
 * Cuts models that are too much for one of `cells` cells: with more load than a cell's share of the whole, no split
 * could be even, and a burst of more than all of a cell's GPUs would be late there while other cells are idle.
 */
export function partsOf(
  { loads, means }: MeasuredLoad,
  pages: readonly number[],
  { cells, gpus }: { readonly cells: number; readonly gpus: number },
): Part[] {
  const total = means.reduce((sum, mean) => sum + mean, 0);
  const gpusPerCell = Math.floor(gpus / cells);
  return loads.flatMap((load, model) => {
    const mean = means[model]!;
    const byMean = total === 0 ? 1 : (mean * cells) / total;
    const byPeak = load.reduce((most, one) => Math.max(most, one), 0) / gpusPerCell;
    const count = Math.max(1, Math.min(cells, Math.ceil(Math.max(byMean, byPeak))));
    return Array.from({ length: count }, (_, i) => ({
      ...{ model, from: i / count, to: (i + 1) / count, pages: pages[model]! },
      ...(count === 1 ? { load, mean } : { load: load.map((one) => one / count), mean: mean / count }),
    }));
  });
}
