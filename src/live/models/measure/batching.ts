import { type ModelSignature, unbatched, withFreeOutputs } from '../../model.js';
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

/** Returns a model as it is served after measuring; `check` null: its batches were not checked. */
export function withBatching<
  T extends { readonly signature: ModelSignature; readonly batchSizes: readonly number[] },
>(model: T, check: Pick<BatchingCheck, 'independent'> | null, freeOutputs = false): T {
  if (check?.independent === false)
    return { ...model, signature: unbatched(model.signature), batchSizes: [1] };
  return freeOutputs ? { ...model, signature: withFreeOutputs(model.signature) } : model;
}
