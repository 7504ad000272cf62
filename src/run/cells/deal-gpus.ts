import { EscapementError } from '../../base/errors.js';

/** A block of GPUs, from the first to before the last. */
export type GpuBlock = readonly [from: number, to: number];

/**
 * Deals GPUs to cells in blocks that differ as little as possible. A worker takes orders from one controller, so the
 * cells get whole workers where there are enough of them. Throws `E_USAGE` where a cell would get no GPU.
 */
export function dealGpus(
  { gpus, workers }: { readonly gpus: number; readonly workers: number },
  cells: number,
): GpuBlock[] {
  if (cells > gpus) {
    throw new EscapementError(
      'E_USAGE',
      `--cells ${cells}: the cluster has only ${gpus} GPUs, and each cell needs one; raise cluster.gpus`,
    );
  }
  const starts = Array.from({ length: cells + 1 }, (_, cell) => {
    if (workers < cells) return Math.floor((cell * gpus) / cells);
    // GPU g belongs to worker floor(g · workers / gpus).
    return Math.ceil((Math.floor((cell * workers) / cells) * gpus) / workers);
  });
  return starts.slice(1).map((to, cell) => [starts[cell] as number, to]);
}
