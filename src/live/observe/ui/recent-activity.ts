import type { Action } from '../../../core/action.js';
import type { Cluster } from '../../../core/cluster.js';
import type { RunObserver } from '../../../core/observer.js';
import type { Outcome, RequestTable } from '../../../core/request.js';
import { CauseFinder } from '../../../record/causes.js';
import { RecentActions } from '../../../record/recent-actions.js';
import { RowRing } from '../../../record/row-ring.js';
import { answeredRow, plannedRow, REQUEST_COLUMNS } from '../../../record/run-rows.js';

/** Rows of the past sent to a new page: 256 and 352 KiB. */
const ACTIONS = 2048;
const REQUESTS = 4096;
/** Limit on rows per later message; the oldest are left out. */
const MOST_NEW = 1000;

/** Rows of `ACTION` and `REQUEST` of src/record/run-rows.ts. */
interface ActivityRows {
  readonly actions: Float64Array<ArrayBuffer>;
  readonly requests: Float64Array<ArrayBuffer>;
}

/** The latest actions and answers of a server, in a fixed amount of memory. */
export class RecentActivity implements RunObserver {
  private readonly actions = new RecentActions(ACTIONS);
  private readonly requests = new RowRing(REQUEST_COLUMNS, REQUESTS);
  private changed = new Set<number>();
  private answeredIds: number[] = [];
  private causes = new CauseFinder([]);
  private waiting: RequestTable | null = null;

  /** Attaches the running controller, for its models, which come and go, and its unanswered requests. */
  watch(core: { readonly cluster: Cluster; readonly requests: RequestTable }): void {
    this.causes = new CauseFinder(core.cluster.models);
    this.waiting = core.requests;
  }

  decided(action: Action): void {
    this.actions.put(plannedRow(action, this.waiting));
    this.note(action.id);
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.causes.completed(action, nowNs, copies);
    const { id, beginNs, endNs, status } = action;
    if (this.actions.end(id, { beginNs, endNs, handledNs: nowNs, status })) this.note(id);
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
    this.requests.put(answeredRow(requests, slot, { outcome, nowNs, action, cause }));
    if (this.answeredIds.length === 2 * MOST_NEW) this.answeredIds = this.answeredIds.slice(MOST_NEW);
    this.answeredIds.push(requests.id[slot]);
  }

  /** All rows kept. */
  all(): ActivityRows {
    return { actions: this.actions.all(), requests: this.requests.all() };
  }

  /** Rows changed since the last call. */
  take(): ActivityRows {
    const { changed, answeredIds } = this;
    this.changed = new Set();
    this.answeredIds = [];
    return {
      actions: this.actions.pick([...changed].slice(-MOST_NEW)),
      requests: this.requests.pick(answeredIds.slice(-MOST_NEW)),
    };
  }

  /** While no page is open, ids are forgotten along with their rows. */
  private note(action: number): void {
    const { changed } = this;
    changed.add(action);
    if (changed.size <= ACTIONS) return;
    for (const oldest of changed) {
      changed.delete(oldest);
      return;
    }
  }
}
