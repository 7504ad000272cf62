import { NS_PER_S } from '../../base/units.js';

interface TargetBatchInput {
  readonly batchSizes: readonly number[];
  /** How many of the sizes may be used. */
  readonly sizes: number;
  /** What a batch of each size takes. */
  readonly execNs: (batchIndex: number) => number;
  /** What a request may take from arrival to answer. */
  readonly budgetNs: number;
  /** Requests per second; undefined: not known yet. */
  readonly rps: number | undefined;
}

/**
 * How many requests a model's batches aim at, at least 1. With ℓ(b) the time of a batch and n the GPUs that the rate keeps busy in
 * batches of b:
 * - before a rate is known: the largest b with ℓ(b) ≤ budget / 2;
 * - if n > 1: the largest b with ℓ(b) · (1 + 1/n) ≤ budget, since a GPU becomes free every ℓ(b) / n;
 * - otherwise: the most requests that can gather and then run within the budget, b / rate + ℓ(b) ≤ budget.
 */
export function targetBatch(input: TargetBatchInput): number {
  const { batchSizes, sizes, execNs, budgetNs, rps } = input;
  let best = 1;
  for (let i = 0; i < sizes; i++) {
    const gpus = rps === undefined ? 1 : (rps * execNs(i)) / (batchSizes[i] * NS_PER_S);
    if (execNs(i) * (1 + 1 / Math.max(1, gpus)) > budgetNs) {
      return rps === undefined || gpus > 1 ? best : gathering(input, rps);
    }
    best = batchSizes[i];
  }
  return best;
}

function gathering({ batchSizes, sizes, execNs, budgetNs }: TargetBatchInput, rps: number): number {
  let best = 1;
  for (let i = 0; i < sizes; i++) {
    const gathered = Math.floor(((budgetNs - execNs(i)) * rps) / NS_PER_S);
    best = Math.max(best, Math.min(batchSizes[i], gathered));
  }
  return best;
}
