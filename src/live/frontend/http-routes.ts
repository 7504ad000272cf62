import type { InferenceService } from '../service.js';
import type { Catalog } from './catalog.js';
import type { DoorSettings } from './door.js';
import type { HttpInfer } from './http-infer.js';
import { objectOf, parseObject } from './http-infer-body.js';
import { sendJson, sendRefusal, sendStatus } from './http-reply.js';
import { type BodyReader, type DoorRequest, type DoorResponse, tooLarge } from './http-request.js';
import { asRefusal, Refusal, shown } from './refusal.js';
import type { TokenCheck } from './token.js';

const MODELS = '/v2/models/';
const REPOSITORY_MODELS = '/v2/repository/models/';

/** From method and path to what answers them. Plain string work: this runs for every request. */
export class HttpRoutes {
  private readonly index: BodyReader;
  private readonly load: BodyReader;
  private readonly unload: BodyReader;

  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly infer: HttpInfer,
    private readonly token: TokenCheck,
    private readonly settings: DoorSettings,
  ) {
    this.index = new SmallBody((request, body) => {
      const { ready } = body;
      if (ready !== undefined && typeof ready !== 'boolean')
        throw new Refusal('invalid', `ready: expected true or false, got ${shown(ready)}`);
      sendJson(responseOf(request), 200, JSON.stringify(catalog.index(ready ?? false)));
    });
    this.load = new SmallBody((request, body) => this.setAvailable(request, body, true));
    this.unload = new SmallBody((request, body) => this.setAvailable(request, body, false));
  }

  handle(request: DoorRequest, response: DoorResponse): void {
    request.response = response;
    try {
      this.dispatch(request, response);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  private dispatch(request: DoorRequest, response: DoorResponse): void {
    const path = pathOf(request.url as string);
    if (path === '/v2/health/live') this.health(request, response, true);
    else if (path === '/v2/health/ready') this.health(request, response, this.service.ready);
    else {
      this.token.admit(request.headers.authorization);
      if (path.startsWith(MODELS)) this.ofModel(request, response, path);
      else if (path.startsWith(REPOSITORY_MODELS)) this.ofRepository(request, path);
      else if (path === '/v2/repository/index') this.collect(request, this.index);
      else if (path === '/v2' || path === '/v2/') this.server(request, response);
      else throw noSuchPath(path);
    }
  }

  private health(request: DoorRequest, response: DoorResponse, well: boolean): void {
    expect(request, 'GET');
    if (!well) throw new Refusal('notReady', 'the server is starting or draining');
    sendStatus(response, 200);
  }

  private server(request: DoorRequest, response: DoorResponse): void {
    expect(request, 'GET');
    sendJson(response, 200, JSON.stringify(this.catalog.serverMetadata()));
  }

  /** /v2/models/NAME[/versions/VERSION][/ready|/infer] */
  private ofModel(request: DoorRequest, response: DoorResponse, path: string): void {
    const parts = path.slice(MODELS.length).split('/');
    const versioned = parts.length > 2 && parts[1] === 'versions';
    const model = this.catalog.find(decoded(parts[0]), versioned ? decoded(parts[2]) : '');
    const rest = versioned ? 3 : 1;
    if (parts.length > rest + 1) throw noSuchPath(path);
    const verb = parts[rest];
    if (verb === 'infer') {
      request.model = model;
      this.collect(request, this.infer);
    } else if (verb === 'ready') {
      expect(request, 'GET');
      this.catalog.checkReady(model);
      sendStatus(response, 200);
    } else if (verb === undefined) {
      expect(request, 'GET');
      sendJson(response, 200, JSON.stringify(this.catalog.modelMetadata(model)));
    } else throw noSuchPath(path);
  }

  /** /v2/repository/models/NAME/load|unload */
  private ofRepository(request: DoorRequest, path: string): void {
    const [name, verb, ...rest] = path.slice(REPOSITORY_MODELS.length).split('/');
    if (rest.length > 0 || (verb !== 'load' && verb !== 'unload')) throw noSuchPath(path);
    request.model = this.catalog.find(decoded(name), '');
    this.collect(request, verb === 'load' ? this.load : this.unload);
  }

  private setAvailable(
    request: DoorRequest,
    body: Readonly<Record<string, unknown>>,
    available: boolean,
  ): void {
    const { name } = this.service.models[request.model].spec;
    this.catalog.setAvailable(name, available, Object.keys(objectOf(body.parameters, 'parameters')));
    sendStatus(responseOf(request), 200);
  }

  private collect(request: DoorRequest, reader: BodyReader): void {
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
    private readonly use: (request: DoorRequest, body: Readonly<Record<string, unknown>>) => void,
  ) {}

  read(request: DoorRequest, body: Buffer): void {
    try {
      this.use(request, body.length === 0 ? {} : parseObject(body.toString('utf8')));
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: DoorRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}

function responseOf(request: DoorRequest): DoorResponse {
  return request.response as DoorResponse;
}

function expect(request: DoorRequest, method: 'GET' | 'POST'): void {
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
