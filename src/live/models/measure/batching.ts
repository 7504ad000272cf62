import { type ModelSignature, unbatched } from '../../model.js';
import { callRuntime } from '../../ort/runtime-call.js';
import type { BatchingCheck, BatchingSpec } from './check-batching.js';

export interface BatchingTask extends BatchingSpec {
  /** The model, optimised for the device. */
  readonly ortPath: string;
}

/** `checkBatching` in a process of its own. Rejects as that throws. */
export function measureBatching(task: BatchingTask): Promise<BatchingCheck> {
  return callRuntime('checkBatches', task);
}

/** A model as it is served after the check; null: nothing was to be checked. */
export function withBatching<
  T extends { readonly signature: ModelSignature; readonly batchSizes: readonly number[] },
>(model: T, check: Pick<BatchingCheck, 'independent'> | null): T {
  if (check === null || check.independent) return model;
  return { ...model, signature: unbatched(model.signature), batchSizes: [1] };
}
