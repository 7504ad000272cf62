import { type ModelSignature, unbatched } from '../../model.js';
import { callRuntime } from '../../ort/runtime-call.js';
import type { BatchingCheck, BatchingSpec } from './check-batching.js';

export interface BatchingTask extends BatchingSpec {
  /** The model, optimized for the device. */
  readonly ortPath: string;
}

/** Runs `checkBatching` in a process of its own. Rejects with its errors. */
export function measureBatching(task: BatchingTask): Promise<BatchingCheck> {
  return callRuntime('checkBatches', task);
}

/** Returns a model as it is served after the check; null: nothing was checked. */
export function withBatching<
  T extends { readonly signature: ModelSignature; readonly batchSizes: readonly number[] },
>(model: T, check: Pick<BatchingCheck, 'independent'> | null): T {
  if (check === null || check.independent) return model;
  return { ...model, signature: unbatched(model.signature), batchSizes: [1] };
}
