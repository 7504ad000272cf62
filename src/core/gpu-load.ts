/** Least busy part of the time of a GPU in use; others are left out. */
const USED = 0.1;

/** Utilization of the GPUs in use. A GPU is as busy as the busier of its two lanes. */
export class GpuLoad {
  /** By GPU: run time of the EXEC and WEIGHTS lanes since the last update, ns; utilization of the busier one. */
  private readonly execNs: Float64Array;
  private readonly weightsNs: Float64Array;
  private readonly busy: Float64Array;

  constructor(gpus: number) {
    this.execNs = new Float64Array(gpus);
    this.weightsNs = new Float64Array(gpus);
    this.busy = new Float64Array(gpus);
  }

  /** Adds run time of a lane. */
  ran(gpu: number, isExec: boolean, durationNs: number): void {
    if (isExec) this.execNs[gpu] += durationNs;
    else this.weightsNs[gpu] += durationNs;
  }

  /** Updates the means with the time since the last call; `part`: weight of the new values. */
  look(passedNs: number, part: number): void {
    const { execNs, weightsNs, busy } = this;
    for (let gpu = 0; gpu < busy.length; gpu++) {
      busy[gpu] += (Math.max(execNs[gpu], weightsNs[gpu]) / passedNs - busy[gpu]) * part;
    }
    execNs.fill(0);
    weightsNs.fill(0);
  }

  /** Idle part of the time of GPUs in use, 0 to 1; 1 if none is. */
  get idle(): number {
    let used = 0;
    let sum = 0;
    for (const part of this.busy) {
      if (part < USED) continue;
      used++;
      sum += 1 - Math.min(part, 1);
    }
    return used === 0 ? 1 : sum / used;
  }

  forget(): void {
    for (const sums of [this.execNs, this.weightsNs, this.busy]) sums.fill(0);
  }
}
