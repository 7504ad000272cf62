import type { Socket } from 'node:net';
import type { ModelEntry } from '../service.js';
import type { Arrivals } from './arrivals.js';
import { tooLarge } from './body-collector.js';
import type { Catalog } from './catalog.js';
import { allowOf } from './http-allow.js';
import { contentEncoding } from './http-headers.js';
import type { HttpInfer } from './http-infer.js';
import { checkFraming } from './http-problem.js';
import { sendJson, sendNothing, sendRefusal } from './http-reply.js';
import type { BodyReader, FrontendRequest, FrontendResponse } from './http-request.js';
import type { HttpSite } from './http-site.js';
import { optionalObject } from './json-object.js';
import type { KnownHead } from './known-head.js';
import { whyLeftOut } from './left-out.js';
import { booleanParameter } from './parameters.js';
import { QuickRequest } from './quick-request.js';
import { asRefusal, Refusal, serverNotReady, shown } from './refusal.js';
import { SmallBody } from './small-body.js';
import type { TokenCheck } from './token.js';

const MODELS = '/v2/models/';
const REPOSITORY_MODELS = '/v2/repository/models/';

/** From method and path to what answers them. Plain string work: this runs for every request. */
export class HttpRoutes {
  private readonly index: BodyReader;

  constructor(
    private readonly site: HttpSite,
    private readonly catalog: Catalog,
    private readonly infer: HttpInfer,
    private readonly arrivals: Arrivals,
    private readonly token: TokenCheck,
  ) {
    this.index = new SmallBody('ready', '{"ready":true}', (request, ready) => {
      if (ready !== undefined && ready !== null && typeof ready !== 'boolean')
        throw new Refusal('invalid', `ready: expected true or false, got ${shown(ready)}`);
      return catalog.index(ready ?? false).then((index) => answer(request, index));
    });
  }

  handle(request: FrontendRequest, response: FrontendResponse): void {
    request.begin(this.site, response, this.arrivals.stampNs(request.headersNs));
    try {
      this.dispatch(request);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  handleAgain(head: KnownHead, body: Buffer, socket: Socket, over: () => void): boolean {
    const { site } = this;
    if (site.endsConnections || body.length > site.settings.maxBodyBytes) return false;
    const entry = this.entryNow(head.path);
    if (entry === null) return false;
    const account = site.accountOf(socket);
    const known = { head, entry, bodyBytes: body.length };
    const request = new QuickRequest(site, socket, account, known, this.arrivals.stampNs(), over);
    const refusal = request.hold(body.length);
    if (refusal === null) this.infer.read(request, body);
    else this.infer.refuse(request, refusal);
    return true;
  }

  /** What the path of an infer request names: versions come and go. Null: nothing any more. */
  private entryNow(path: string): ModelEntry | null {
    const [name, , version] = path.slice(MODELS.length).split('/');
    try {
      return this.catalog.find(decoded(name), version === undefined ? '' : decoded(version));
    } catch {
      return null;
    }
  }

  refuse(request: FrontendRequest, response: FrontendResponse, refusal: Refusal): void {
    request.begin(this.site, response, this.arrivals.stampNs(request.headersNs));
    sendRefusal(request, refusal);
  }

  private dispatch(request: FrontendRequest): void {
    checkFraming(request);
    const { path } = request;
    if (request.method === 'OPTIONS') this.options(request, path);
    else if (path === '/v2/health/live') this.live(request);
    else if (path === '/v2/health/ready') this.ready(request);
    else {
      const { authorization, origin } = request.headers;
      this.token.admit(authorization);
      if (request.method === 'POST') this.site.origins.admit(origin);
      if (path.startsWith(MODELS)) this.ofModel(request, path);
      else if (path.startsWith(REPOSITORY_MODELS)) this.ofRepository(request, path);
      else if (path === '/v2/repository/index') this.collect(request, this.index);
      else this.ofServer(request, path);
    }
  }

  /** Says what a path allows. Reveals nothing of models, so it takes no token: browsers send none with it. */
  private options(request: FrontendRequest, path: string): void {
    const methods = allowOf(path);
    if (methods === null) throw noSuchPath(path);
    const headers = ['allow', methods];
    if (this.site.origins.isOn)
      headers.push(
        ...['access-control-allow-methods', methods],
        ...['access-control-allow-headers', CORS_HEADERS],
        ...['access-control-max-age', '600'],
      );
    sendNothing(request, 204, headers);
  }

  private live(request: FrontendRequest): void {
    expectGet(request);
    const { notReady, hangs = false } = this.site.service.state;
    if (!hangs) sendJson(request, 200, '{"live":true}');
    else sendJson(request, 503, JSON.stringify({ live: false, error: notReady }));
  }

  private ready(request: FrontendRequest): void {
    expectGet(request);
    const { notReady } = this.site.service.state;
    if (notReady === null) sendJson(request, 200, '{"ready":true}');
    else sendJson(request, 503, JSON.stringify({ ready: false, error: serverNotReady(notReady) }));
  }

  private ofServer(request: FrontendRequest, path: string): void {
    const { catalog } = this;
    if (path === '/v2' || path === '/v2/') {
      expectGet(request);
      answer(request, catalog.serverMetadata());
    } else if (path === '/v2/models') {
      expectGet(request);
      answer(request, { models: catalog.names() });
    } else if (path === '/v2/models/stats') {
      expectGet(request);
      answerLater(request, catalog.statistics('', ''));
    } else throw noSuchPath(path);
  }

  /** /v2/models/NAME[/versions/VERSION][/ready|/infer|/config|/stats] */
  private ofModel(request: FrontendRequest, path: string): void {
    const parts = path.slice(MODELS.length).split('/');
    if (path === '/v2/models/stats') {
      this.ofServer(request, path);
      return;
    }
    const versioned = parts.length > 2 && parts[1] === 'versions';
    const version = versioned ? decoded(parts[2]) : '';
    const entry = this.catalog.find(decoded(parts[0]), version);
    const rest = versioned ? 3 : 1;
    if (parts.length > rest + 1) throw noSuchPath(path);
    const verb = parts[rest];
    if (verb === 'infer') {
      request.entry = entry;
      this.collect(request, this.infer);
      return;
    }
    expectGet(request);
    if (verb === undefined) answer(request, this.catalog.modelMetadata(entry));
    else if (verb === 'ready') this.modelReady(request, entry);
    else if (verb === 'config') answer(request, this.catalog.modelConfig(entry));
    else if (verb === 'stats') answerLater(request, this.catalog.statistics(entry.name, version));
    else throw noSuchPath(path);
  }

  private modelReady(request: FrontendRequest, entry: ModelEntry): void {
    this.catalog.ready(entry);
    answer(request, { name: entry.name, ready: true });
  }

  /** /v2/repository/models/NAME/load|unload */
  private ofRepository(request: FrontendRequest, path: string): void {
    const [name, verb, ...rest] = path.slice(REPOSITORY_MODELS.length).split('/');
    if (rest.length > 0 || (verb !== 'load' && verb !== 'unload')) throw noSuchPath(path);
    const { catalog } = this;
    const model = decoded(name);
    const reader = new SmallBody('parameters', BODIES[verb], async (_, given) => {
      const parameters = optionalObject(given, 'parameters');
      const names = Object.keys(parameters);
      if (verb === 'load') await catalog.load(model, names);
      else {
        booleanParameter(parameters, 'unload_dependents');
        await catalog.unload(model, names);
      }
      sendNothing(request, 200, []);
    });
    this.collect(request, reader);
  }

  private collect(request: FrontendRequest, reader: BodyReader): void {
    if (request.method !== 'POST') throw new Refusal('needsPost', `expected POST, got ${request.method}`);
    contentEncoding(request);
    const limitBytes = Math.min(reader.limitBytes, this.site.settings.maxBodyBytes);
    // What is announced as too large is turned away before any of it was read.
    if (request.announcedBytes > limitBytes) throw tooLarge(limitBytes);
    request.collect(reader, limitBytes);
  }
}

/** What may be sent to the repository. */
const BODIES = {
  load: '{"parameters":{}}',
  unload: '{"parameters":{"unload_dependents":true}}',
} as const;

/** What browsers may send in requests of other origins. */
const CORS_HEADERS =
  'authorization, content-type, content-encoding, inference-header-content-length, traceparent';

function answer(request: FrontendRequest, value: object): void {
  sendJson(request, 200, JSON.stringify(value));
}

function answerLater(request: FrontendRequest, value: Promise<object>): void {
  value.then(
    (known) => answer(request, known),
    (error) => sendRefusal(request, asRefusal(error)),
  );
}

/** HEAD is a GET of which Node sends the headers alone. */
function expectGet({ method }: FrontendRequest): void {
  if (method !== 'GET' && method !== 'HEAD') throw new Refusal('needsGet', `expected GET, got ${method}`);
}

function noSuchPath(path: string): Refusal {
  const reason = whyLeftOut(path);
  if (reason !== null) return new Refusal('unimplemented', reason);
  return new Refusal('unknown', `no such path: ${shown(path)}`);
}

function decoded(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal('invalid', `the path is not well encoded: ${shown(part)}`);
  }
}
