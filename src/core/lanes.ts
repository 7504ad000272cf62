import { BitSet } from '../base/bit-set.js';
import type { LaneTimeline } from './timeline.js';

/**
 * Sends work to the lanes of all GPUs and takes its results, and so knows which GPUs that are up have an idle lane: what
 * would otherwise be asked GPU by GPU.
 */
export class Lanes {
  readonly idleExec: BitSet;
  /** The very set of `idleExec` where GPUs have one lane. */
  readonly idleWeights: BitSet;

  constructor(
    private readonly exec: readonly LaneTimeline[],
    private readonly weights: readonly LaneTimeline[],
  ) {
    this.idleExec = new BitSet(exec.length);
    this.idleWeights = weights === exec ? this.idleExec : new BitSet(exec.length);
  }

  /** An INFER was sent that should take `durationNs`. */
  startExec(gpu: number, actionId: number, durationNs: number, nowNs: number): void {
    if (this.exec[gpu].add(actionId, durationNs, nowNs) === 1) this.idleExec.delete(gpu);
  }

  /** It has a result. */
  endExec(gpu: number, actionId: number, endNs: number): void {
    if (this.exec[gpu].finish(actionId, endNs) === 0) this.idleExec.add(gpu);
  }

  /** The same of a LOAD. */
  startWeights(gpu: number, actionId: number, durationNs: number, nowNs: number): void {
    if (this.weights[gpu].add(actionId, durationNs, nowNs) === 1) this.idleWeights.delete(gpu);
  }

  endWeights(gpu: number, actionId: number, endNs: number): void {
    if (this.weights[gpu].finish(actionId, endNs) === 0) this.idleWeights.add(gpu);
  }

  /** The GPU is gone, or there again. */
  setClosed(gpu: number, isClosed: boolean): void {
    this.exec[gpu].setClosed(isClosed);
    this.weights[gpu].setClosed(isClosed);
    note(this.idleExec, gpu, this.exec[gpu]);
    note(this.idleWeights, gpu, this.weights[gpu]);
  }
}

function note(idle: BitSet, gpu: number, lane: LaneTimeline): void {
  if (lane.outstanding === 0) idle.add(gpu);
  else idle.delete(gpu);
}
