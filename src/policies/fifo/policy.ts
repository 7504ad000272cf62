import { BitMatrix } from '../../base/bit-matrix.js';
import { BatchQueue } from '../../core/batch-queue.js';
import { Calendar } from '../../core/calendar.js';
import type { PolicyContext } from '../../core/policy.js';
import { REQUEST_QUEUED } from '../../core/request.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

interface FifoOptions {
  readonly maxBatch: number;
  /** Maximum wait of the oldest request for its batch to fill. */
  readonly maxDelayNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * A common dynamic batcher: one queue per model; a batch is due when it is full or its oldest request has waited long
 * enough, and an idle GPU runs the batch that has been due for longest. It ignores SLOs, so it refuses nothing, and
 * nothing times out unless the controller says so.
 */
export class FifoPolicy extends OneBatchAtATime {
  readonly name = 'fifo';
  private readonly maxDelayNs: number;
  private readonly maxBatch: number;
  private readonly queues: readonly BatchQueue[];
  /** Index of each model's largest usable batch size. */
  private readonly largest: Int32Array;
  /** By model: time at which its oldest request has waited long enough. */
  private readonly due: Calendar;
  /** By GPU: due models that it could run, in the order they became due. */
  private readonly lines: number[][];
  private readonly inLine: BitMatrix;

  constructor(context: PolicyContext, options: FifoOptions) {
    super(context);
    const { models, gpus } = context.cluster;
    this.maxDelayNs = options.maxDelayNs;
    this.maxBatch = options.maxBatch;
    this.queues = models.map(() => new BatchQueue(1));
    this.largest = usableSizes(models, options.maxBatch).map((sizes) => sizes - 1);
    this.due = new Calendar(models.length);
    this.lines = Array.from({ length: gpus }, () => []);
    this.inLine = new BitMatrix(models.length, gpus);
  }

  admit(slot: number, nowNs: number): number {
    const model = this.requests.model[slot];
    const queue = this.queues[model];
    queue.push(slot, this.requests.id[slot], NEVER, nowNs);
    if (queue.length(0) === 1) this.due.set(model, this.requests.arrivalNs[slot] + this.maxDelayNs);
    if (queue.length(0) >= this.fullBatch(model)) this.becameDue(model);
    this.placement.want(model);
    return NEVER;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot, this.requests.id[slot]);
    // The oldest may have changed, and a full batch may no longer be full.
    this.due.set(model, this.queued(model) === 0 ? NEVER : this.oldestNs(model) + this.maxDelayNs);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    if (this.isDue(model, nowNs)) this.becameDue(model);
  }

  modelCame(model: number): void {
    this.largest[model] = usableSizesOf(this.cluster.models[model], this.maxBatch) - 1;
  }

  modelGoes(model: number): void {
    this.due.set(model, NEVER);
    for (const [gpu, line] of this.lines.entries())
      if (this.inLine.delete(model, gpu)) this.lines[gpu] = line.filter((other) => other !== model);
  }

  override schedule(nowNs: number): void {
    for (let model = this.due.due(nowNs); model >= 0; model = this.due.due(nowNs)) {
      this.due.set(model, NEVER);
      this.becameDue(model);
    }
    super.schedule(nowNs);
  }

  override nextWakeNs(): number {
    return this.due.nextNs;
  }

  queued(model: number): number {
    return this.queues[model].length(0);
  }

  private fullBatch(model: number): number {
    return this.cluster.models[model].batchSizes[this.largest[model]];
  }

  private isDue(model: number, nowNs: number): boolean {
    const queue = this.queues[model];
    if (queue.length(0) === 0) return false;
    return queue.length(0) >= this.fullBatch(model) || this.oldestNs(model) + this.maxDelayNs <= nowNs;
  }

  private oldestNs(model: number): number {
    return this.requests.arrivalNs[this.queues[model].headSlot(0)];
  }

  /** Queues the model on every GPU where it is warm. */
  private becameDue(model: number): void {
    const { warm } = this.cluster;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      if (!this.inLine.add(model, gpu)) continue;
      this.lines[gpu].push(model);
      this.idle.add(gpu);
    }
    if (warm.count(model) > 0) this.placement.crowded(model);
  }

  /** Runs the batch that has been due for longest, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    const line = this.lines[gpu];
    while (line.length > 0 && this.cluster.exec[gpu].outstanding === 0) {
      const model = line.shift() as number;
      this.inLine.delete(model, gpu);
      if (this.cluster.warm.has(model, gpu) && this.isDue(model, nowNs)) this.runDue(gpu, model, nowNs);
    }
  }

  private runDue(gpu: number, model: number, nowNs: number): void {
    const { batchSizes } = this.cluster.models[model];
    const { requests, batch } = this;
    const queue = this.queues[model];
    const count = queue.take(0, this.fullBatch(model), batch, requests.id, requests.state, REQUEST_QUEUED);
    let batchIndex = 0;
    while (batchSizes[batchIndex] < count) batchIndex++;
    this.run(gpu, model, batchIndex, count, nowNs);
    const due = this.isDue(model, nowNs);
    // A batch already due waits in line, not for a time.
    this.due.set(model, due || queue.length(0) === 0 ? NEVER : this.oldestNs(model) + this.maxDelayNs);
    if (due) this.becameDue(model);
  }
}
