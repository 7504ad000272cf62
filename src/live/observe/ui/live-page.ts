import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../../base/compiled.js';
import { NS_PER_MS } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { Cluster } from '../../../core/cluster.js';
import type { ClusterStatus } from '../status/cluster-status.js';
import { type Route, text } from '../telemetry/route.js';
import { EventStreams } from './event-streams.js';
import type { RowsMessage, SetupMessage, StatusMessage } from './messages.js';
import type { RecentActivity } from './recent-activity.js';

const EVENTS_PATH = '/ui/events';
const ROWS_MS = 100;
/** A status costs more than rows do. */
const ROWS_PER_STATUS = 10;

interface LivePageOptions {
  readonly activity: RecentActivity;
  readonly cluster: Cluster;
  readonly time: Time;
  readonly nowNs: () => number;
  readonly status: () => ClusterStatus;
}

/** Page of a server that has nothing to show yet; instead of events it gets the text `missing`. */
export function waitingPageRoutes(missing: string): Route[] {
  return [...pageRoutes(), { path: EVENTS_PATH, answer: () => text(503, missing) }];
}

/** A web page that shows a server's activity: the page itself, for everyone, and its events. */
export class LivePage {
  readonly routes: readonly Route[];
  private readonly streams: EventStreams;
  /** Runs while a page is open. */
  private timer: Timer | null = null;
  private sends = 0;
  /** True if models came or left since the last setup. */
  private areModelsNew = false;
  private gpus = 0;

  constructor(private readonly options: LivePageOptions) {
    this.streams = new EventStreams(() => JSON.stringify(this.setup()));
    this.routes = [
      ...pageRoutes(),
      { path: EVENTS_PATH, answer: () => this.streams.open(() => this.begin()) },
    ];
  }

  modelsChanged(): void {
    this.areModelsNew = true;
  }

  close(): void {
    this.timer?.cancel();
    this.timer = null;
    this.streams.close();
  }

  private begin(): void {
    if (this.timer !== null) return;
    // The page has just received everything that is kept.
    this.options.activity.take();
    this.timer = this.options.time.every(ROWS_MS, () => this.send()).unref();
  }

  private send(): void {
    const { streams, options } = this;
    if (!streams.isRead) {
      this.timer?.cancel();
      this.timer = null;
      return;
    }
    this.streams.send('rows', JSON.stringify(this.rowsOf(options.activity.take())));
    this.sends++;
    if (this.sends % ROWS_PER_STATUS !== 0) return;
    const status: StatusMessage = options.status();
    if (this.areModelsNew || status.gpus.length !== this.gpus) streams.beginAgain();
    else streams.send('status', JSON.stringify(status));
    this.areModelsNew = false;
  }

  private setup(): SetupMessage {
    const { activity, cluster, status } = this.options;
    const { models } = cluster;
    const end = models.findLastIndex((_, model) => cluster.hasModel(model)) + 1;
    const now = status();
    this.gpus = now.gpus.length;
    return {
      policy: now.policy,
      gpus: this.gpus,
      oneLane: cluster.oneLane,
      models: models.slice(0, end).map(({ name }) => name),
      modelInferMs: models.slice(0, end).map(({ execNs }) => (execNs[0] ?? 0) / NS_PER_MS),
      status: now,
      ...this.rowsOf(activity.all()),
    };
  }

  private rowsOf({ actions, requests }: ReturnType<RecentActivity['all']>): RowsMessage {
    return { nowNs: this.options.nowNs(), actions: base64(actions), requests: base64(requests) };
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
