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
  private readonly models: ReturnType<typeof newCounts>[] = [];
  /** By number of a step in the core's request table: the index of its pipeline. */
  private readonly pipelineOf: number[] = [];
  /** By name and version, of all models ever served. */
  private readonly counts = new Map<string, ReturnType<typeof newCounts>>();

  /** `started`: models that workers have from the start. */
  constructor(
    private readonly unixMs: () => number,
    started: readonly ServedModel[] = [],
  ) {
    for (const [index, model] of started.entries()) this.modelCame(index, model);
  }

  /** Reports that the model at that index takes requests from now on. */
  modelCame(index: number, { spec: { name }, version }: ServedModel): void {
    const key = keyOf(name, version);
    const counts = this.counts.get(key) ?? newCounts(name, version);
    this.counts.set(key, counts);
    this.models[index] = counts;
  }

  stepCame(step: number, _name: string, pipeline: number): void {
    this.pipelineOf[step] = pipeline;
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
    const succeeded = outcome === OUTCOME_OK || outcome === OUTCOME_LATE;
    add(succeeded ? counts.success : counts.fail, 1, Math.max(0, nowNs - arrivalNs));
    if (!succeeded) return;
    if (action === null) {
      // The models of a pipeline run for it, and have added their times.
      this.ranOnce(counts);
      for (const duration of [counts.queue, counts.computeInput, counts.computeInfer, counts.computeOutput])
        add(duration, 1, 0);
      return;
    }
    const queueNs = Math.max(0, action.beginNs - arrivalNs);
    add(counts.queue, 1, queueNs);
    const pipeline = this.models[this.pipelineOf[requests.step[slot]]];
    if (pipeline === undefined) return;
    add(pipeline.queue, 0, queueNs);
    add(pipeline.computeInfer, 0, action.endNs - action.beginNs);
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
    this.ranOnce(counts, count);
    counts.batches[count] ??= { batchSize: count, ...noStages() };
    for (const [stages, times] of [
      [counts, count],
      [counts.batches[count], 1],
    ] as const) {
      add(stages.computeInput, times, copyInNs * times);
      add(stages.computeInfer, times, inferNs * times);
      add(stages.computeOutput, times, copyOutNs * times);
    }
  }

  /** Statistics of those versions in `entries` that ever took requests. Forgets the others. */
  read(entries: ServiceState['entries']): ModelStatistics[] {
    const found = [...this.keep(entries)].flatMap((key) => this.counts.get(key) ?? []);
    return structuredClone(found.map((counts) => ({ ...counts, batches: counts.batches.filter(Boolean) })));
  }

  /** Reports the current versions. Forgets the others once they are many. */
  listed(entries: ServiceState['entries']): void {
    if (this.counts.size > entries.length + MOST_UNLISTED) this.keep(entries);
  }

  private ranOnce(counts: ReturnType<typeof newCounts>, requests = 1): void {
    counts.lastInferenceMs = Math.floor(this.unixMs());
    counts.inferenceCount += requests;
    counts.executionCount++;
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

interface Duration {
  count: number;
  ns: number;
}

const none = (): Duration => ({ count: 0, ns: 0 });
const noStages = () => ({ computeInput: none(), computeInfer: none(), computeOutput: none() });

function newCounts(name: string, version: string) {
  return {
    ...{ name, version, lastInferenceMs: 0, inferenceCount: 0, executionCount: 0 },
    ...{ success: none(), fail: none(), queue: none(), ...noStages() },
    /** By number of requests in the run. */
    batches: [] as (ReturnType<typeof noStages> & { readonly batchSize: number })[],
  };
}

function add(duration: Duration, count: number, ns: number): void {
  duration.count += count;
  duration.ns += Math.round(ns);
}
