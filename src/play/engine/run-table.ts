import { invariant } from '../../base/invariant.js';
import { type Action, INFER } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import type { Outcome, RequestTable } from '../../core/request.js';
import type { Worker } from '../../core/worker.js';
import { CauseFinder } from '../../record/cause-finder.js';
import { ACTION, ACTION_COLUMNS, REQUEST_COLUMNS } from '../rows.js';
import { RowList } from './row-list.js';

/** Keeps every action and every answered request of a run as rows: for frames, and for the stories of requests. */
export class RunTable implements RunObserver {
  /** The action with id i is row i. */
  readonly actions = new RowList(ACTION_COLUMNS);
  /** In order of the answers. */
  readonly requests = new RowList(REQUEST_COLUMNS);
  private readonly changed = new Set<number>();
  private framedRequests = 0;
  private readonly causes: CauseFinder;
  private waiting: RequestTable | null = null;

  constructor(models: readonly ModelSpec[]) {
    this.causes = new CauseFinder(models);
  }

  /** The requests that the controller holds: their deadlines are read when they are planned. */
  watch(requests: RequestTable): void {
    this.waiting = requests;
  }

  decided(action: Action): void {
    invariant(action.id === this.actions.count, 'actions are decided in the order of their ids');
    const { id, kind, gpu, model, batchSize, count, sentNs, earliestNs, latestNs } = action;
    const { expectedDurationNs, expectedEndNs, status } = action;
    this.actions.push([
      ...[id, kind, gpu, model, batchSize, count, sentNs, earliestNs, latestNs],
      ...[expectedDurationNs, expectedEndNs, this.deadlineNs(action)],
      ...[Number.NaN, Number.NaN, Number.NaN, status],
    ]);
    this.changed.add(id);
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    const { id, beginNs, endNs, status } = action;
    this.causes.completed(action, nowNs, copies);
    this.actions.set(id, ACTION.beginNs, beginNs);
    this.actions.set(id, ACTION.endNs, endNs);
    this.actions.set(id, ACTION.handledNs, nowNs);
    this.actions.set(id, ACTION.status, status);
    this.changed.add(id);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    const { id, model, user, arrivalNs, sloNs, failedInfer } = requests;
    this.requests.push([
      ...[id[slot], model[slot], user[slot], arrivalNs[slot], sloNs[slot], nowNs, outcome],
      ...[action?.id ?? failedInfer[slot], this.causes.indexOf(requests, slot, outcome, nowNs, copies)],
    ]);
  }

  /** Rows of the actions that changed since it was last called; those under way on `workers` have begun. */
  takeActions(workers: readonly Worker[]): Float64Array<ArrayBuffer> {
    for (const { running } of workers) {
      for (const { id, beginNs } of running) {
        if (!Number.isNaN(this.actions.get(id, ACTION.beginNs))) continue;
        this.actions.set(id, ACTION.beginNs, beginNs);
        this.changed.add(id);
      }
    }
    const rows = this.actions.pick(this.changed, this.changed.size);
    this.changed.clear();
    return rows;
  }

  /** Rows of the requests that were answered since it was last called. */
  takeRequests(): Float64Array<ArrayBuffer> {
    const rows = this.requests.from(this.framedRequests);
    this.framedRequests = this.requests.count;
    return rows;
  }

  private deadlineNs({ kind, requests, count }: Action): number {
    let earliest = Number.POSITIVE_INFINITY;
    if (kind !== INFER || this.waiting === null) return earliest;
    const { arrivalNs, sloNs } = this.waiting;
    for (let i = 0; i < count; i++)
      earliest = Math.min(earliest, arrivalNs[requests[i]] + sloNs[requests[i]]);
    return earliest;
  }
}
