import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../../base/compiled.js';
import { NS_PER_MS } from '../../../base/units.js';
import type { Cluster } from '../../../core/cluster.js';
import { json, type Route, text } from '../telemetry/route.js';
import type { RecentActivity } from './recent-activity.js';

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
 * Answer to `GET /ui/activity?after=MARK`: what changed after that mark. Times in ns since the start of the
 * controller. Rows are those of src/record/run-rows.ts: the bytes of a Float64Array, little-endian, as base64.
 */
export interface ActivityMessage {
  /** Mark for the next question. */
  readonly mark: number;
  readonly nowNs: number;
  readonly actions: string;
  readonly requests: string;
  /** Absent: unchanged since that mark. With it comes all that is kept. */
  readonly setup?: ServerSetup;
}

interface LivePageOptions {
  readonly activity: RecentActivity;
  readonly cluster: Cluster;
  readonly policy: string;
  readonly nowNs: () => number;
  /** Number of GPUs that workers have. */
  readonly gpus: () => number;
}

/** Page of a server that has nothing to show yet; instead of activity it gets the text `missing`. */
export function waitingPageRoutes(missing: string): Route[] {
  return [...pageRoutes(), { path: ACTIVITY_PATH, answer: () => text(503, missing) }];
}

/** A web page that shows a server's activity: the page itself, for everyone, and its data. */
export class LivePage {
  readonly routes: readonly Route[];
  /** Mark of the latest setup, and its number of GPUs. */
  private changed = 0;
  private gpus = -1;

  constructor(private readonly options: LivePageOptions) {
    this.routes = [
      ...pageRoutes(),
      { path: ACTIVITY_PATH, answer: ({ query }) => json(200, this.after(Number(query.get('after')))) },
    ];
  }

  /** Models have come or left. */
  modelsChanged(): void {
    this.changed = ++this.options.activity.mark;
  }

  private after(asked: number): ActivityMessage {
    const { activity, nowNs, gpus } = this.options;
    if (gpus() !== this.gpus) this.modelsChanged();
    this.gpus = gpus();
    // A page may have followed an earlier process.
    const isNew = asked < this.changed || asked > activity.mark;
    const { actions, requests } = activity.since(isNew ? 0 : asked);
    return {
      ...{ mark: activity.mark, nowNs: nowNs(), actions: base64(actions), requests: base64(requests) },
      ...(isNew && { setup: this.setup() }),
    };
  }

  private setup(): ServerSetup {
    const { cluster, policy } = this.options;
    const { models } = cluster;
    const shown = models.slice(0, models.findLastIndex((_, model) => cluster.hasModel(model)) + 1);
    return {
      ...{ policy, gpus: this.gpus, oneLane: cluster.oneLane },
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
