import type { GpuCount, ScalingDecision } from './scaler.js';

export const GPU_OFF = 0;
/** Ordered, and billed from here on. */
export const GPU_STARTING = 1;
export const GPU_ON = 2;
/** Finishing its outstanding work. */
export const GPU_DRAINING = 3;
export type GpuState = 0 | 1 | 2 | 3;

/** Observer of the number of GPUs and of scaling decisions. */
export interface FleetObserver {
  /** Reports a GPU's new state. GPUs that are on at the start are reported at time 0. */
  gpuChanged?(gpu: number, state: GpuState, nowNs: number): void;
  /** Reports a decision. `counts`: GPUs that the scaler saw, by kind. */
  scaled?(decision: ScalingDecision, counts: readonly GpuCount[], nowNs: number): void;
}
