import { dirname } from 'node:path';
import { comparePrecision } from '../../live/models/measure/compare-precision.js';
import { modelFile } from '../../live/models/precision.js';
import { readModelFile } from '../../live/models/repository.js';
import type { Subject } from './subject.js';

/** How far the outputs of a model at FP16 are from those at FP32. */
export interface PrecisionDifference {
  readonly model: string;
  /** Random inputs that both were given. */
  readonly requests: number;
  readonly maxAbsolute: number;
  /** Share of the outputs that are finite at FP32 only: they overflowed, and count in no other figure. */
  readonly overflowed: number;
  /** Of the largest output. */
  readonly maxRelative: number;
  /** Share of requests whose largest output is the same: classifiers answer the same. */
  readonly sameLargest: number;
}

/** Compares the files of each model that is asked for. `subject` is the one at FP32. Throws `E_MODEL_FILE`. */
export async function precisionDifferences({ models, mix, device }: Subject): Promise<PrecisionDifference[]> {
  const differences: PrecisionDifference[] = [];
  for (const [m, { spec, ortPath }] of models.entries()) {
    if (mix[m] === 0 || ortPath === null) continue;
    // Optimised models are next to those that they were made from.
    const versionDir = dirname(ortPath);
    const pair = {
      fp32: await readModelFile(modelFile(versionDir, 'fp32')),
      fp16: await readModelFile(modelFile(versionDir, 'fp16')),
    };
    const { difference } = await comparePrecision(pair, device, { batchSizes: [1], runs: 1 });
    const { requests, values, maxAbsolute, largestOutput, sameLargest } = difference;
    const maxRelative = largestOutput === 0 ? 0 : maxAbsolute / largestOutput;
    const overflowed = difference.overflowed / values;
    differences.push({ model: spec.name, requests, maxAbsolute, maxRelative, overflowed, sameLargest });
  }
  return differences;
}
