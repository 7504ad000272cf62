import { unixMs } from '../../base/clock/wall-clock.js';
import { type Action, INFER, STATUS_OK } from '../../core/action.js';
import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_LATE, OUTCOME_OK, type Outcome, type RequestTable } from '../../core/request.js';
import type { ResultMessage } from '../messages.js';
import type { ModelStatistics, ServiceState } from '../service.js';

/**
 * Counts what happens to each model, for the protocol's statistics. A request of the scheduler is one row of a client's
 * batch. Each request of a run counts with the whole time of the run, as the protocol's other servers do it.
 */
export class StatisticsCollector implements RunObserver {
  /** By index of the model. */
  private readonly models: ModelCounts[] = [];

  /** The state is another: a model that now has the index of one that is gone begins at zero. */
  changed({ entries }: ServiceState): void {
    for (const { index, name, version } of entries) {
      if (index < 0) continue;
      const counts = this.models[index];
      if (counts === undefined || counts.name !== name || counts.version !== version)
        this.models[index] = new ModelCounts(name, version);
    }
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const counts = this.models[requests.model[slot]];
    if (counts === undefined) return;
    const arrivalNs = requests.arrivalNs[slot];
    const succeeded = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE);
    (succeeded ? counts.success : counts.fail).add(1, Math.max(0, nowNs - arrivalNs));
    if (succeeded) counts.queue.add(1, Math.max(0, action.beginNs - arrivalNs));
  }

  completed(): void {}

  /** The result of an action has come. */
  ran(action: Action, { copyInNs, copyOutNs }: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>): void {
    const { kind, status, model, count } = action;
    if (kind !== INFER || status !== STATUS_OK) return;
    const counts = this.models[model];
    if (counts === undefined) return;
    const inferNs = Math.max(0, action.endNs - action.beginNs - copyInNs - copyOutNs);
    counts.lastInferenceMs = Math.floor(unixMs());
    counts.inferenceCount += count;
    counts.executionCount++;
    counts.all.add(count, copyInNs * count, inferNs * count, copyOutNs * count);
    counts.batch(count).add(1, copyInNs, inferNs, copyOutNs);
  }

  /** Of the models that `state` has. */
  read({ entries }: ServiceState): ModelStatistics[] {
    const read: ModelStatistics[] = [];
    for (const { index } of entries) {
      const counts = this.models[index];
      if (counts !== undefined) read.push(counts.read());
    }
    return read;
  }
}

class Duration {
  private count = 0;
  private ns = 0;

  add(count: number, ns: number): void {
    this.count += count;
    this.ns += ns;
  }

  read(): { count: number; ns: number } {
    return { count: this.count, ns: Math.round(this.ns) };
  }
}

class Compute {
  private readonly input = new Duration();
  private readonly infer = new Duration();
  private readonly output = new Duration();

  add(count: number, inputNs: number, inferNs: number, outputNs: number): void {
    this.input.add(count, inputNs);
    this.infer.add(count, inferNs);
    this.output.add(count, outputNs);
  }

  read() {
    return {
      computeInput: this.input.read(),
      computeInfer: this.infer.read(),
      computeOutput: this.output.read(),
    };
  }
}

class ModelCounts {
  lastInferenceMs = 0;
  inferenceCount = 0;
  executionCount = 0;
  readonly success = new Duration();
  readonly fail = new Duration();
  readonly queue = new Duration();
  readonly all = new Compute();
  /** By requests in the run. */
  private readonly batches: (Compute | undefined)[] = [];

  constructor(
    readonly name: string,
    readonly version: string,
  ) {}

  batch(count: number): Compute {
    const known = this.batches[count];
    if (known !== undefined) return known;
    const batch = new Compute();
    this.batches[count] = batch;
    return batch;
  }

  read(): ModelStatistics {
    const { name, version, lastInferenceMs, inferenceCount, executionCount } = this;
    return {
      name,
      version,
      lastInferenceMs,
      inferenceCount,
      executionCount,
      success: this.success.read(),
      fail: this.fail.read(),
      queue: this.queue.read(),
      ...this.all.read(),
      batches: this.batches.flatMap((batch, batchSize) =>
        batch === undefined ? [] : [{ batchSize, ...batch.read() }],
      ),
    };
  }
}
