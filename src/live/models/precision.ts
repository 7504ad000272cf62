import { join } from 'node:path';

/**
 * Precision of a model's weights and operators. Its inputs and outputs do not depend on it, so that clients see no
 * difference.
 */
export const PRECISIONS = ['fp32', 'fp16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** Where a model lies in the folder of its version. */
export function modelFile(versionDir: string, precision: Precision): string {
  return precision === 'fp32' ? join(versionDir, MODEL_FILE) : join(versionDir, precision, MODEL_FILE);
}

const MODEL_FILE = 'model.onnx';
