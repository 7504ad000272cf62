import { OUTCOME_LATE, OUTCOME_OK } from '../../core/request.js';
import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import type { ActivityMessage, ServerSetup } from '../../live/observe/ui/live-page.js';
import { RecentActions } from '../../record/recent-actions.js';
import { RowList, RowRing } from '../../record/row-list.js';
import { ACTION_COLUMNS, REQUEST, REQUEST_COLUMNS } from '../../record/run-rows.js';
import { LATENCY_BINS, latencyBinOf } from '../latency-bins.js';
import type { Story } from '../protocol.js';
import { fromBase64 } from '../share/address.js';
import { storyOf } from '../story.js';

/** Number of actions kept for stories, as long as the page is open. */
const ACTIONS = 20_000;
const REQUESTS = 20_000;
/** Before every mark. */
const ALL = -1;

/** Rows of `ACTION` and `REQUEST`. */
export interface Rows {
  readonly actions: Float64Array<ArrayBuffer>;
  readonly requests: Float64Array<ArrayBuffer>;
}

/** State of a server as known to the page. */
export class ServerView {
  private readonly actions = new RecentActions(ACTIONS);
  private readonly requests = new RowRing(REQUEST_COLUMNS, REQUESTS);

  /** `beganNs`: when this was its state, on its clock. */
  constructor(
    readonly setup: ServerSetup,
    public status: ClusterStatus,
    readonly beganNs: number,
  ) {}

  /** Keeps the rows of a message, and returns them. */
  add(message: Pick<ActivityMessage, 'actions' | 'requests'>): Rows {
    const rows = { actions: numbers(message.actions), requests: numbers(message.requests) };
    for (const row of split(rows.actions, ACTION_COLUMNS)) this.actions.put(row);
    for (const row of split(rows.requests, REQUEST_COLUMNS)) this.requests.put(row);
    return rows;
  }

  /** Histogram of the latencies of remembered requests that were executed. */
  latencyCounts(): Uint32Array {
    const counts = new Uint32Array(LATENCY_BINS);
    for (const row of this.requests.since(ALL)) {
      const outcome = row[REQUEST.outcome];
      if (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE) continue;
      counts[latencyBinOf(row[REQUEST.answeredNs]! - row[REQUEST.arrivalNs]!)]!++;
    }
    return counts;
  }

  /** Story of a request; null: too long ago. */
  story(request: number): Story | null {
    const answered = this.requests.since(ALL);
    answered.sort((a, b) => a[REQUEST.answeredNs]! - b[REQUEST.answeredNs]!);
    const requests = listOf(REQUEST_COLUMNS, answered);
    const actions = listOf(ACTION_COLUMNS, this.actions.since(ALL));
    return storyOf({ actions, requests }, this.setup, request);
  }
}

function numbers(base64: string): Float64Array<ArrayBuffer> {
  const bytes = fromBase64(base64);
  if (bytes === null) throw new Error('the server sent rows that are not base64: reload the page');
  return new Float64Array(bytes.buffer);
}

function split(rows: Float64Array, columns: number): Float64Array[] {
  return Array.from({ length: rows.length / columns }, (_, i) =>
    rows.subarray(i * columns, (i + 1) * columns),
  );
}

function listOf(columns: number, rows: readonly Float64Array[]): RowList {
  const list = new RowList(columns);
  for (const row of rows) list.push(row);
  return list;
}
