const NOT_STOPPED = -1;

/** What each GPU runs, and what stopping it takes. */
export class RunningBatches {
  /** By GPU: how many deadlines its batch should meet, 0 if it runs none. */
  readonly count: Int32Array;
  /** How long the last preemption took until the GPU was free: 0 before the first, so that it is tried. */
  stopNs = 0;
  private readonly endNs: Float64Array;
  private readonly stoppedNs: Float64Array;

  constructor(gpus: number) {
    this.count = new Int32Array(gpus);
    this.endNs = new Float64Array(gpus);
    this.stoppedNs = new Float64Array(gpus).fill(NOT_STOPPED);
  }

  started(gpu: number, count: number, endNs: number): void {
    this.count[gpu] = count;
    this.endNs[gpu] = endNs;
    this.stoppedNs[gpu] = NOT_STOPPED;
  }

  /** Whether stopping what the GPU runs would free it earlier, as far as is known; false if that was done already. */
  canStop(gpu: number, nowNs: number): boolean {
    if (this.count[gpu] === 0 || this.stoppedNs[gpu] !== NOT_STOPPED) return false;
    return nowNs + this.stopNs < this.endNs[gpu];
  }

  stopping(gpu: number, nowNs: number): void {
    this.stoppedNs[gpu] = nowNs;
  }

  /** `tells`: the end was that of the batch, not of its worker. */
  ended(gpu: number, nowNs: number, tells: boolean): void {
    if (tells && this.stoppedNs[gpu] !== NOT_STOPPED) this.stopNs = nowNs - this.stoppedNs[gpu];
    this.count[gpu] = 0;
  }
}
