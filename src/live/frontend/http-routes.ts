import type { Arrivals } from './arrivals.js';
import type { Catalog } from './catalog.js';
import type { FrontendSettings } from './frontend.js';
import type { HttpInfer } from './http-infer.js';
import { objectOf, parseObject } from './http-infer-body.js';
import { sendJson, sendRefusal, sendStatus } from './http-reply.js';
import { type BodyReader, type FrontendRequest, type FrontendResponse, tooLarge } from './http-request.js';
import { asRefusal, Refusal, shown } from './refusal.js';
import type { TokenCheck } from './token.js';

const MODELS = '/v2/models/';
const REPOSITORY_MODELS = '/v2/repository/models/';

/** From method and path to what answers them. Plain string work: this runs for every request. */
export class HttpRoutes {
  private readonly index: BodyReader;

  constructor(
    private readonly catalog: Catalog,
    private readonly infer: HttpInfer,
    private readonly arrivals: Arrivals,
    private readonly token: TokenCheck,
    private readonly settings: FrontendSettings,
  ) {
    this.index = new SmallBody((request, body) => {
      const { ready } = body;
      if (ready !== undefined && typeof ready !== 'boolean')
        throw new Refusal('invalid', `ready: expected true or false, got ${shown(ready)}`);
      sendJson(responseOf(request), 200, JSON.stringify(catalog.index(ready ?? false)));
    });
  }

  handle(request: FrontendRequest, response: FrontendResponse): void {
    request.response = response;
    request.arrivalNs = this.arrivals.stampNs();
    try {
      this.dispatch(request, response);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  private dispatch(request: FrontendRequest, response: FrontendResponse): void {
    const path = pathOf(request.url as string);
    if (path === '/v2/health/live') this.live(request, response);
    else if (path === '/v2/health/ready') this.ready(request, response);
    else {
      this.token.admit(request.headers.authorization);
      if (path.startsWith(MODELS)) this.ofModel(request, response, path);
      else if (path.startsWith(REPOSITORY_MODELS)) this.ofRepository(request, path);
      else if (path === '/v2/repository/index') this.collect(request, this.index);
      else if (path === '/v2' || path === '/v2/') this.server(request, response);
      else throw noSuchPath(path);
    }
  }

  private live(request: FrontendRequest, response: FrontendResponse): void {
    expect(request, 'GET');
    sendStatus(response, 200);
  }

  private ready(request: FrontendRequest, response: FrontendResponse): void {
    expect(request, 'GET');
    this.catalog.checkServerReady();
    sendStatus(response, 200);
  }

  private server(request: FrontendRequest, response: FrontendResponse): void {
    expect(request, 'GET');
    sendJson(response, 200, JSON.stringify(this.catalog.serverMetadata()));
  }

  /** /v2/models/NAME[/versions/VERSION][/ready|/infer] */
  private ofModel(request: FrontendRequest, response: FrontendResponse, path: string): void {
    const parts = path.slice(MODELS.length).split('/');
    const versioned = parts.length > 2 && parts[1] === 'versions';
    const entry = this.catalog.find(decoded(parts[0]), versioned ? decoded(parts[2]) : '');
    const rest = versioned ? 3 : 1;
    if (parts.length > rest + 1) throw noSuchPath(path);
    const verb = parts[rest];
    if (verb === 'infer') {
      request.entry = entry;
      this.collect(request, this.infer);
    } else if (verb === 'ready') {
      expect(request, 'GET');
      this.catalog.ready(entry);
      sendStatus(response, 200);
    } else if (verb === undefined) {
      expect(request, 'GET');
      sendJson(response, 200, JSON.stringify(this.catalog.modelMetadata(entry)));
    } else throw noSuchPath(path);
  }

  /** /v2/repository/models/NAME/load|unload */
  private ofRepository(request: FrontendRequest, path: string): void {
    const [name, verb, ...rest] = path.slice(REPOSITORY_MODELS.length).split('/');
    if (rest.length > 0 || (verb !== 'load' && verb !== 'unload')) throw noSuchPath(path);
    const { catalog } = this;
    const model = decoded(name);
    const reader = new SmallBody(async (_, { parameters: given }) => {
      const parameters = Object.keys(objectOf(given, 'parameters'));
      if (verb === 'load') await catalog.load(model, parameters);
      else await catalog.unload(model, parameters);
      sendStatus(responseOf(request), 200);
    });
    this.collect(request, reader);
  }

  private collect(request: FrontendRequest, reader: BodyReader): void {
    expect(request, 'POST');
    const { headers } = request;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      throw new Refusal(
        'encoding',
        `content-encoding ${shown(encoding)} is not supported: send the body as it is`,
      );
    const { maxBodyBytes } = this.settings;
    // What is announced as too large is turned away before any of it was read.
    if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
    request.collect(reader, maxBodyBytes);
  }
}

/** A body that is a JSON object or nothing. */
class SmallBody implements BodyReader {
  constructor(
    private readonly use: (
      request: FrontendRequest,
      body: Readonly<Record<string, unknown>>,
    ) => void | Promise<void>,
  ) {}

  async read(request: FrontendRequest, body: Buffer): Promise<void> {
    try {
      await this.use(request, body.length === 0 ? {} : parseObject(body.toString('utf8')));
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: FrontendRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}

function responseOf(request: FrontendRequest): FrontendResponse {
  return request.response as FrontendResponse;
}

function expect(request: FrontendRequest, method: 'GET' | 'POST'): void {
  if (request.method === method) return;
  const kind = method === 'GET' ? 'needsGet' : 'needsPost';
  throw new Refusal(kind, `expected ${method}, got ${request.method}`);
}

function noSuchPath(path: string): Refusal {
  return new Refusal('unknown', `no such path: ${shown(path)}`);
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

function decoded(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal('invalid', `the path is not well encoded: ${shown(part)}`);
  }
}
