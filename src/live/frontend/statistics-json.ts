import type { ModelStatistics } from '../service.js';

/** The statistics of one version of a model, as the statistics extension of the protocol has them in JSON. */
export function jsonOfStatistics(one: ModelStatistics): object {
  const { success, fail, queue, computeInput, computeInfer, computeOutput } = one;
  return {
    name: one.name,
    version: one.version,
    last_inference: one.lastInferenceMs,
    inference_count: one.inferenceCount,
    execution_count: one.executionCount,
    inference_stats: {
      success,
      fail,
      queue,
      compute_input: computeInput,
      compute_infer: computeInfer,
      compute_output: computeOutput,
    },
    batch_stats: one.batches.map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: batch.computeInput,
      compute_infer: batch.computeInfer,
      compute_output: batch.computeOutput,
    })),
  };
}
