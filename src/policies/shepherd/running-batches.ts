import type { DeadlineQueue } from '../common/deadline-queue.js';

const NOT_STOPPED = -1;

/** What each GPU runs, and what stopping it takes. */
export class RunningBatches {
  /** By GPU: how many deadlines its batch should meet, 0 if it runs none. */
  readonly count: Int32Array;
  /** How long the last preemption took until the GPU was free: 0 before the first, so that it is tried. */
  stopNs = 0;
  private readonly endNs: Float64Array;
  private readonly stoppedNs: Float64Array;

  private readonly model: Int32Array;
  /** Row = GPU: by when each request of its batch shall be served. */
  private readonly deadlines: Float64Array;

  constructor(
    gpus: number,
    private readonly maxBatch: number,
  ) {
    this.count = new Int32Array(gpus);
    this.model = new Int32Array(gpus);
    this.deadlines = new Float64Array(gpus * maxBatch);
    this.endNs = new Float64Array(gpus);
    this.stoppedNs = new Float64Array(gpus).fill(NOT_STOPPED);
  }

  /** It runs the next `count` requests of the queue from `first` on. */
  started(
    gpu: number,
    model: number,
    endNs: number,
    queue: DeadlineQueue,
    first: number,
    count: number,
  ): void {
    this.count[gpu] = count;
    this.model[gpu] = model;
    for (let i = 0; i < count; i++) this.deadlines[gpu * this.maxBatch + i] = queue.deadlineNsAt(first + i);
    this.endNs[gpu] = endNs;
    this.stoppedNs[gpu] = NOT_STOPPED;
  }

  /** Whether stopping what the GPU runs would free it earlier, as far as is known; false if that was done already. */
  canStop(gpu: number, nowNs: number): boolean {
    if (this.count[gpu] === 0 || this.stoppedNs[gpu] !== NOT_STOPPED) return false;
    return nowNs + this.stopNs < this.endNs[gpu];
  }

  /** How many requests of what the GPU runs could join a batch of the model that ends at `endNs`. */
  joinable(gpu: number, model: number, endNs: number): number {
    if (this.model[gpu] !== model) return 0;
    let joinable = 0;
    for (let i = 0; i < this.count[gpu]; i++)
      if (this.deadlines[gpu * this.maxBatch + i] >= endNs) joinable++;
    return joinable;
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
