import type { Efficiency } from './efficiency.js';

/** What was measured with one number of GPUs. */
export interface ScalingPoint extends Efficiency {
  readonly gpus: number;
  readonly models: number;
  readonly clients: number;
  /** Of a trial. */
  readonly requests: number;
  readonly sloMs: number;
  /** Time of each trial, s. */
  readonly trialsS: readonly number[];
}
