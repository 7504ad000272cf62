import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../../base/compiled.js';
import { invariant } from '../../../base/invariant.js';
import { NS_PER_MS } from '../../../base/units.js';
import type { Action } from '../../../core/action.js';
import type { Cluster } from '../../../core/cluster.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import type { Outcome, RequestTable } from '../../../core/request.js';
import { CauseFinder } from '../../../record/causes.js';
import { RecentActions } from '../../../record/recent-actions.js';
import { joinedRows, RowRing } from '../../../record/row-list.js';
import { answeredRow, plannedRow, REQUEST_COLUMNS } from '../../../record/run-rows.js';
import { json, type Route, text } from '../telemetry/route.js';

const ACTIVITY_PATH = '/ui/activity';

/** A server as its page draws it. */
export interface ServerSetup {
  readonly policy: string;
  readonly gpus: number;
  /** True if LOAD and INFER share a lane. */
  readonly oneLane: boolean;
  /** By index: name, and time of an INFER of one request; empty and 0: there is no model. */
  readonly models: readonly string[];
  readonly modelInferMs: readonly number[];
}

/**
 * Answer to `GET /ui/activity?start=START&after=MARK`: what changed after that mark of that start. Times in ns since the
 * start of the controller. Rows are those of src/record/run-rows.ts: the bytes of a Float64Array, little-endian, as
 * base64.
 */
export interface ActivityMessage {
  /** Id of the start of this controller: one that was restarted has another, and other marks. */
  readonly start: string;
  /** Mark for the next question. */
  readonly mark: number;
  readonly nowNs: number;
  readonly actions: string;
  readonly requests: string;
  /** Absent: unchanged since that mark of that start. With it comes all that is kept. */
  readonly setup?: ServerSetup;
}

/** The controller, as far as the page shows it. */
interface Running {
  readonly core: { readonly cluster: Cluster; readonly requests: RequestTable };
  nowNs(): number;
}

/** Page of a server that has nothing to show yet; instead of activity it gets the text `missing`. */
export function waitingPageRoutes(missing: string): Route[] {
  return [...pageRoutes(), { path: ACTIVITY_PATH, answer: () => text(503, missing) }];
}

/** A web page that shows a server's activity, which it observes: the page itself, for everyone, and its data. */
export class LivePage {
  readonly routes: readonly Route[] = [
    ...pageRoutes(),
    { path: ACTIVITY_PATH, answer: ({ query }) => json(200, this.after(query)) },
  ];
  private readonly start = randomUUID();
  readonly run: RecentActivity;
  readonly events = { modelCame: () => this.changed(), modelGone: () => this.changed() };
  private controller: Running | null = null;
  /** Mark of the latest setup, and its number of GPUs. */
  private changedAt = 0;
  private gpusThen = -1;

  constructor(
    models: readonly ModelSpec[],
    private readonly policy: string,
    /** Number of GPUs that workers have. */
    private readonly gpus: () => number,
  ) {
    this.run = new RecentActivity(models);
  }

  started(controller: Running): void {
    this.controller = controller;
    this.run.waiting = controller.core.requests;
  }

  private changed(): void {
    this.changedAt = ++this.run.mark;
  }

  private after(query: URLSearchParams): ActivityMessage {
    const { run, controller } = this;
    invariant(controller !== null, 'a page shows a controller that runs');
    if (this.gpus() !== this.gpusThen) this.changed();
    this.gpusThen = this.gpus();
    const asked = query.get('start') === this.start ? Number(query.get('after')) : 0;
    const isNew = asked < this.changedAt;
    const { actions, requests } = run.since(isNew ? 0 : asked);
    return {
      ...{ start: this.start, mark: run.mark, nowNs: controller.nowNs() },
      ...{ actions: base64(actions), requests: base64(requests) },
      ...(isNew && { setup: this.setup(controller.core.cluster) }),
    };
  }

  private setup(cluster: Cluster): ServerSetup {
    const { models, oneLane } = cluster;
    const shown = models.slice(0, models.findLastIndex((_, model) => cluster.hasModel(model)) + 1);
    return {
      ...{ policy: this.policy, gpus: this.gpusThen, oneLane },
      models: shown.map(({ name }) => name),
      modelInferMs: shown.map(({ execNs }) => (execNs[0] ?? 0) / NS_PER_MS),
    };
  }
}

function base64({ buffer }: Float64Array<ArrayBuffer>): string {
  return Buffer.from(buffer).toString('base64');
}

const FILES = {
  '/ui/': { name: 'index.html', contentType: 'text/html; charset=utf-8' },
  '/ui/page.js': { name: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  '/ui/page.css': { name: 'page.css', contentType: 'text/css; charset=utf-8' },
};

/** The page runs only code served by this port, talks to this port alone, and is embedded in no other page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Routes of the live page without any data of this server: everyone may read it. The files are read once. */
function pageRoutes(): Route[] {
  return Object.entries(FILES).map(([path, { name, contentType }]) => {
    const body = readFileSync(compiledNextTo(import.meta.url, `../../../play/ui/${name}`));
    const reply = { status: 200, contentType, headers: HEADERS, body };
    return { path, isPublic: true, answer: () => reply };
  });
}

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
