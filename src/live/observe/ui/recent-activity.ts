import type { Action } from '../../../core/action.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import type { Outcome, RequestTable } from '../../../core/request.js';
import { CauseFinder } from '../../../record/causes.js';
import { RecentActions } from '../../../record/recent-actions.js';
import { joinedRows, RowRing } from '../../../record/row-list.js';
import { answeredRow, plannedRow, REQUEST_COLUMNS } from '../../../record/run-rows.js';

/** Number of rows kept for pages: 256 and 352 KiB. */
const ACTIONS = 2048;
const REQUESTS = 4096;
/** Most rows of each in one answer to a page that has the earlier ones: copying them takes the scheduler's time. */
const MOST_NEW = 1000;

/** The latest actions and answers of a server, in a fixed amount of memory. Every change has a number, the next one. */
export class RecentActivity implements RunObserver {
  /** Number of the last change. */
  mark = 0;
  private readonly actions = new RecentActions(ACTIONS);
  private readonly requests = new RowRing(REQUEST_COLUMNS, REQUESTS);
  private readonly causes: CauseFinder;
  /** Unanswered requests of the controller, once it runs. */
  waiting: RequestTable | null = null;

  /** `models` is kept up to date. */
  constructor(models: readonly ModelSpec[]) {
    this.causes = new CauseFinder(models);
  }

  decided(action: Action): void {
    this.actions.put(plannedRow(action, this.waiting), ++this.mark);
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.causes.completed(action, nowNs, copies);
    const { id, beginNs, endNs, status } = action;
    this.actions.end(id, { beginNs, endNs, handledNs: nowNs, status }, ++this.mark);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    const cause = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    this.requests.put(answeredRow(requests, slot, { outcome, nowNs, action, cause }), ++this.mark);
  }

  /** Rows of `ACTION` and `REQUEST` of src/record/run-rows.ts that changed after `mark`. */
  since(mark: number): Record<'actions' | 'requests', Float64Array<ArrayBuffer>> {
    const most = mark === 0 ? Number.POSITIVE_INFINITY : MOST_NEW;
    return {
      actions: joinedRows(this.actions.since(mark, most)),
      requests: joinedRows(this.requests.since(mark, most)),
    };
  }
}
