import { statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Precision of a model's weights and operators. Its inputs and outputs do not depend on it, so that clients see no
 * difference.
 */
export const PRECISIONS = ['fp32', 'fp16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/**
 * Path of a model in the folder of its version: the file `name`, or `name/model.onnx` if that is a folder, which also
 * holds its weights.
 */
export function modelFile(versionDir: string, precision: Precision, name = MODEL_FILE): string {
  const path = join(versionDir, precision === 'fp32' ? '' : precision, name);
  return isFolder(path) ? join(path, MODEL_FILE) : path;
}

/** True for a folder. Follows links; a dangling or circular one is none. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const MODEL_FILE = 'model.onnx';
