import type { GpuCount, ScalingDecision } from './scaler.js';

export const GPU_OFF = 0;
/** Ordered, and paid for from here on. */
export const GPU_STARTING = 1;
export const GPU_ON = 2;
/** It finishes what it has. */
export const GPU_DRAINING = 3;
export type GpuState = 0 | 1 | 2 | 3;

/** Sees how many GPUs there are, and what was decided. */
export interface FleetObserver {
  /** The state of a GPU has changed. Those that are on at the start are reported at time 0. */
  gpuChanged?(gpu: number, state: GpuState, nowNs: number): void;
  /** `counts`: as the scaler saw them, by kind. */
  scaled?(decision: ScalingDecision, counts: readonly GpuCount[], nowNs: number): void;
}
