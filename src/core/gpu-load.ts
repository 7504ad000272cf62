/** GPUs that were busy for less of their time are left out: nothing is sent to them. */
const USED = 0.01;

/** How busy the GPUs are that are used. A GPU is as busy as the busier of its two lanes. */
export class GpuLoad {
  /** By GPU: how long its EXEC lane and its WEIGHTS lane ran since the last look, ns; and the part of time that the busier one ran lately. */
  private readonly execNs: Float64Array;
  private readonly weightsNs: Float64Array;
  private readonly busy: Float64Array;

  constructor(gpus: number) {
    this.execNs = new Float64Array(gpus);
    this.weightsNs = new Float64Array(gpus);
    this.busy = new Float64Array(gpus);
  }

  /** A lane of a GPU was busy for so long. */
  ran(gpu: number, isExec: boolean, durationNs: number): void {
    if (isExec) this.execNs[gpu] += durationNs;
    else this.weightsNs[gpu] += durationNs;
  }

  /** Takes in the time since the last look; `part`: of the mean, what of it is new. */
  look(passedNs: number, part: number): void {
    const { execNs, weightsNs, busy } = this;
    for (let gpu = 0; gpu < busy.length; gpu++) {
      busy[gpu] += (Math.max(execNs[gpu], weightsNs[gpu]) / passedNs - busy[gpu]) * part;
    }
    execNs.fill(0);
    weightsNs.fill(0);
  }

  /** Part of their time that the GPUs are idle that are used, 0 to 1; 0 if none is. */
  get idle(): number {
    let used = 0;
    let sum = 0;
    for (const part of this.busy) {
      if (part < USED) continue;
      used++;
      sum += 1 - Math.min(part, 1);
    }
    return used === 0 ? 0 : sum / used;
  }

  forget(): void {
    for (const sums of [this.execNs, this.weightsNs, this.busy]) sums.fill(0);
  }
}
