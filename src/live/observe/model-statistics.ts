import { type Action, INFER, STATUS_OK } from '../../core/action.js';
import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_LATE, OUTCOME_OK, type Outcome, type RequestTable } from '../../core/request.js';
import type { ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelStatistics, ServiceState } from '../service.js';

/**
 * Counts each model's events for the protocol's statistics. A request of the scheduler is one row of a client's batch.
 * Each request of a run counts with the whole time of the run, as in the protocol's other servers. Counters belong to a
 * name and version: they continue when its files are replaced, and when it comes back after it was unloaded.
 */
export class StatisticsCollector implements RunObserver {
  /** By index: counts of the scheduler's current model, or its last one. */
  private readonly models: ModelCounts[] = [];
  /** By name and version, of all models ever served. */
  private readonly counts = new Map<string, ModelCounts>();

  constructor(private readonly unixMs: () => number) {}

  /** Adds models that workers have from the start. */
  began(entries: ServiceState['entries']): void {
    for (const { index, model } of entries) if (model !== null) this.modelCame(index, model);
  }

  /** Reports that the model at that index takes requests from now on. */
  modelCame(index: number, { spec: { name }, version }: ServedModel): void {
    const key = keyOf(name, version);
    const counts = this.counts.get(key) ?? new ModelCounts(name, version);
    this.counts.set(key, counts);
    this.models[index] = counts;
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

  /** Records the result of an action. */
  ran(action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>): void {
    const { copyInNs, copyOutNs } = result;
    const { kind, status, model, count } = action;
    if (kind !== INFER || status !== STATUS_OK) return;
    const counts = this.models[model];
    if (counts === undefined) return;
    const inferNs = execNsOf(action, result);
    counts.lastInferenceMs = Math.floor(this.unixMs());
    counts.inferenceCount += count;
    counts.executionCount++;
    counts.all.add(count, copyInNs * count, inferNs * count, copyOutNs * count);
    counts.batches[count] ??= new Compute();
    counts.batches[count].add(1, copyInNs, inferNs, copyOutNs);
  }

  /** Statistics of those versions in `entries` that ever took requests. Forgets the others. */
  read(entries: ServiceState['entries']): ModelStatistics[] {
    return [...this.keep(entries)].flatMap((key) => this.counts.get(key)?.read() ?? []);
  }

  /** Reports the current versions. Forgets the others once they are many. */
  listed(entries: ServiceState['entries']): void {
    if (this.counts.size > entries.length + MOST_UNLISTED) this.keep(entries);
  }

  private keep(entries: ServiceState['entries']): ReadonlySet<string> {
    const listed = new Set(entries.map(({ name, version }) => keyOf(name, version)));
    for (const key of this.counts.keys()) if (!listed.has(key)) this.counts.delete(key);
    return listed;
  }
}

/** Number of unlisted versions remembered without a reader of statistics. */
const MOST_UNLISTED = 64;

function keyOf(name: string, version: string): string {
  return JSON.stringify([name, version]);
}

/** Computing time of an INFER, without the copies before and after. */
export function execNsOf(
  { beginNs, endNs }: Action,
  { copyInNs, copyOutNs }: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>,
): number {
  return Math.max(0, endNs - beginNs - copyInNs - copyOutNs);
}

class Duration {
  private count = 0;
  private ns = 0;

  add(count: number, ns: number): void {
    this.count += count;
    this.ns += ns;
  }

  read() {
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
  /** By number of requests in the run. */
  readonly batches: Compute[] = [];

  constructor(
    private readonly name: string,
    private readonly version: string,
  ) {}

  read(): ModelStatistics {
    const { name, version, lastInferenceMs, inferenceCount, executionCount } = this;
    return {
      ...{ name, version, lastInferenceMs, inferenceCount, executionCount },
      success: this.success.read(),
      fail: this.fail.read(),
      queue: this.queue.read(),
      ...this.all.read(),
      batches: Object.entries(this.batches).map(([size, batch]) => ({
        batchSize: Number(size),
        ...batch.read(),
      })),
    };
  }
}
