import type { DeadlineQueue } from '../common/deadline-queue.js';

const NOT_STOPPED = -1;

/** Running batch of each GPU, and the cost of stopping it. */
export class RunningBatches {
  /** By GPU: deadlines its batch should meet, 0 if it runs none. */
  readonly count: Int32Array;
  /** Duration of the last preemption until the GPU was free: 0 before the first, so that it is tried. */
  stopNs = 0;
  private readonly endNs: Float64Array;
  private readonly stoppedNs: Float64Array;

  private readonly model: Int32Array;
  /** Row = GPU: planned deadline of each request of its batch. */
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

  /** Records that the GPU runs the next `count` requests of the queue from `first` on. */
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

  /** True if stopping the running batch is expected to free the GPU earlier; false if it was already stopped. */
  canStop(gpu: number, nowNs: number): boolean {
    if (this.count[gpu] === 0 || this.stoppedNs[gpu] !== NOT_STOPPED) return false;
    return nowNs + this.stopNs < this.endNs[gpu];
  }

  /** Number of requests of the running batch that could join a batch of the model that ends at `endNs`. */
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

  /** Records the end of the batch. `tells`: it ended by itself, not because its worker was lost. */
  ended(gpu: number, nowNs: number, tells: boolean): void {
    if (tells && this.stoppedNs[gpu] !== NOT_STOPPED) this.stopNs = nowNs - this.stoppedNs[gpu];
    this.count[gpu] = 0;
  }
}
