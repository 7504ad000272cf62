import { Cluster } from '../../../src/core/cluster.js';
import type { ModelSpec } from '../../../src/core/model.js';
import { RequestTable } from '../../../src/core/request.js';
import { Durations } from '../../../src/policies/escapement/durations.js';
import { Waiting } from '../../../src/policies/escapement/waiting.js';
import { MS } from '../policy-harness.js';

/** The policy's books over a cluster that does nothing by itself. Deadlines in ms. */
export class Books {
  readonly cluster: Cluster;
  readonly requests = new RequestTable();
  readonly durations: Durations;
  readonly waiting: Waiting;

  constructor(models: readonly ModelSpec[], { gpus = 1, maxBatch = 8 } = {}) {
    this.cluster = new Cluster({ models, gpus, pages: 100, padding: 'bucket' });
    this.durations = new Durations(this.cluster, maxBatch);
    this.waiting = new Waiting(this.cluster, this.durations);
  }

  /** The models are warm on the GPU. */
  warm(gpu: number, models: readonly number[]): this {
    for (const model of models) {
      this.cluster.held.add(model, gpu);
      this.cluster.warm.add(model, gpu);
      this.waiting.warmed(gpu, model);
    }
    return this;
  }

  /** Requests with these deadlines wait for the model. Returns the slot of the first. */
  wait(model: number, ...deadlinesMs: readonly number[]): number {
    return this.waitWith(100, model, ...deadlinesMs);
  }

  /** The same with this SLO. */
  waitWith(sloMs: number, model: number, ...deadlinesMs: readonly number[]): number {
    const slots = deadlinesMs.map((deadlineMs) => {
      const slot = this.requests.allocate(model, (deadlineMs - sloMs) * MS, sloMs * MS, 0);
      this.waiting.push(slot, model, deadlineMs * MS, sloMs * MS);
      return slot;
    });
    return slots[0] as number;
  }

  /** Requests with these deadlines wait for the model in a bucket. Returns their slots. */
  waitIn(bucket: number, model: number, ...deadlinesMs: readonly number[]): number[] {
    return deadlinesMs.map((deadlineMs) => {
      const slot = this.requests.allocate(model, (deadlineMs - 100) * MS, 100 * MS, 0, 0, 0, 1, bucket);
      this.waiting.push(slot, model, deadlineMs * MS, 100 * MS, 0, bucket);
      return slot;
    });
  }
}
