import type { ScalingPoint } from './point.js';
import type { ScalingMode } from './size.js';
import type { ScalingVerdict } from './verdict.js';

/** The result's name in the folder that it is written to. */
export const SCALING_FILE = 'scaling.json';

/** All that a scaling benchmark found. `--json` prints it. */
export interface ScalingResult {
  /** Of escapement. */
  readonly version: string;
  readonly name: string;
  readonly device: {
    /** For people. */
    readonly text: string;
    /** A provider of onnxruntime, or `simulated`: the GPUs are emulated. */
    readonly kind: string;
  };
  /** Processors of this machine. */
  readonly cores: number;
  readonly trials: number;
  /** Of a trial, if nothing is lost. */
  readonly seconds: number;
  /** Of a request, on average. */
  readonly inputBytes: number;
  readonly runs: readonly ScalingRun[];
}

/** One mode over all numbers of GPUs. */
export interface ScalingRun {
  readonly mode: ScalingMode;
  /** By number of GPUs, ascending: the first is the base. */
  readonly points: readonly ScalingPoint[];
  readonly verdict: ScalingVerdict;
}
