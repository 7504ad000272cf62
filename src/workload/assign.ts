import type { Assignment } from './spec.js';

/**
 * Model driven by each function: `blocks` gives function i of F the model at ⌊M·i/F⌋, so that functions of similar
 * popularity share one; `stripe` assigns them in turn, i mod M.
 */
export function assignModels(functions: number, models: Int32Array, assign: Assignment): Int32Array {
  return Int32Array.from({ length: functions }, (_, i) =>
    assign === 'blocks' ? models[Math.floor((models.length * i) / functions)] : models[i % models.length],
  );
}
