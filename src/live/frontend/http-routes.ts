import { ApiError, asApiError, serverNotReady, shown } from './api-error.js';
import { checkFraming, checkToken, contentEncoding } from './headers.js';
import { inflate } from './http-body.js';
import { ALLOW, type HttpExchange } from './http-exchange.js';
import { infer } from './http-infer.js';
import { optionalObject, parseObject } from './json.js';
import { MOST_CONTROL_BYTES } from './limits.js';
import { booleanParameter } from './parameters.js';

/** Gets the parts of the path; what it returns is the answer as JSON. Throws an `ApiError`. */
type Handler = (exchange: HttpExchange, name: string, version: string) => unknown;

const MODEL = '/v2/models/([^/]+)(?:/versions/([^/]+))?';
const REPOSITORY_MODEL = '/v2/repository/models/([^/]+)';

/** All that the HTTP port answers, with who may ask; the first that matches counts. */
export const ROUTES = [
  route('POST', `${MODEL}/infer`, infer),
  // These two need no token.
  route('GET', '/v2/health/live', live, true),
  route('GET', '/v2/health/ready', ready, true),
  route('GET', '/v2/?', ({ site }) => site.catalog.serverMetadata()),
  route('GET', '/v2/models', ({ site }) => ({ models: site.catalog.names() })),
  route('GET', '/v2/models/stats', ({ site }) => site.catalog.statistics('', '')),
  route('GET', MODEL, ({ site: { catalog } }, name, version) =>
    catalog.modelMetadata(catalog.find(name, version)),
  ),
  route('GET', `${MODEL}/ready`, ({ site: { catalog } }, name, version) => {
    catalog.ready(catalog.find(name, version));
    return { name, ready: true };
  }),
  route('GET', `${MODEL}/config`, ({ site: { catalog } }, name, version) =>
    catalog.modelConfig(catalog.find(name, version)),
  ),
  route('GET', `${MODEL}/stats`, ({ site: { catalog } }, name, version) =>
    catalog.statistics(catalog.find(name, version).name, version),
  ),
  route('POST', '/v2/repository/index', repositoryIndex),
  route('POST', `${REPOSITORY_MODEL}/load`, load),
  route('POST', `${REPOSITORY_MODEL}/unload`, unload),
];

function route(method: 'GET' | 'POST', path: string, handle: Handler, isPublic = false) {
  return { method, path: new RegExp(`^${path}$`), handle, isPublic };
}

/** Paths of other servers of the protocol that this one leaves out, and why. */
const LEFT_OUT = [
  {
    path: /^\/v2\/(?:system|cuda)sharedmemory\//,
    why: 'shared memory is left out, as it trusts clients with memory of the server: send tensors raw',
  },
  {
    path: /^\/v2\/(?:logging|(?:models\/[^/]+\/)?trace\/setting)$/,
    why: 'logs and recordings are set up on the command line and through the metrics port',
  },
];

/** Headers that browsers may send from pages of other origins. */
const CORS_HEADERS =
  'authorization, content-type, content-encoding, inference-header-content-length, traceparent';

/** Answers a request, or says why not. */
export async function answer(exchange: HttpExchange): Promise<void> {
  try {
    const value = await dispatch(exchange);
    if (value !== undefined) exchange.sendJson(200, JSON.stringify(value));
  } catch (error) {
    exchange.refuse(asApiError(error));
  }
}

function dispatch(exchange: HttpExchange): unknown {
  const { request, path, site, header } = exchange;
  exchange.isLast = true;
  checkFraming(request);
  exchange.isLast = false;
  const { method } = request;
  const found = ROUTES.find((one) => one.path.test(path));
  exchange.isInfer = found?.handle === infer;
  if (method === 'OPTIONS') return options(exchange, path === '*' ? 'GET' : found?.method);
  if (found?.isPublic !== true) checkToken(site.settings.token, header.authorization);
  if (method === 'POST') site.origins.admit(header.origin);
  if (found === undefined) throw noSuchPath(path);
  const expected = found.method;
  if (method !== expected && !(method === 'HEAD' && expected === 'GET'))
    throw new ApiError(expected === 'GET' ? 'needsGet' : 'needsPost', `expected ${expected}, got ${method}`);
  const [, name = '', version = ''] = found.path.exec(path) ?? [];
  return found.handle(exchange, decoded(name), decoded(version));
}

/** Says what a path allows. Reveals nothing of models, so it takes no token: browsers send none with it. */
function options(exchange: HttpExchange, method: 'GET' | 'POST' | undefined): void {
  if (method === undefined) throw noSuchPath(exchange.path);
  const allow = ALLOW[method];
  const headers = ['allow', allow];
  if (exchange.site.origins.isOn)
    headers.push(
      ...['access-control-allow-methods', allow],
      ...['access-control-allow-headers', CORS_HEADERS],
      ...['access-control-max-age', '600'],
    );
  exchange.sendNothing(204, headers);
}

function live(exchange: HttpExchange): object | undefined {
  const { notReady, hangs = false } = exchange.site.service.state;
  if (!hangs) return { live: true };
  return exchange.sendJson(503, JSON.stringify({ live: false, error: notReady })) as undefined;
}

function ready(exchange: HttpExchange): object | undefined {
  const { notReady } = exchange.site.service.state;
  if (notReady === null) return { ready: true };
  const text = JSON.stringify({ ready: false, error: serverNotReady(notReady) });
  return exchange.sendJson(503, text) as undefined;
}

async function repositoryIndex(exchange: HttpExchange): Promise<object> {
  const onlyReady = (await member(exchange, 'ready', '{"ready":true}')) ?? false;
  if (typeof onlyReady === 'boolean') return exchange.site.catalog.index(onlyReady);
  throw new ApiError('invalid', `ready: expected true or false, got ${shown(onlyReady)}`);
}

async function load(exchange: HttpExchange, name: string): Promise<void> {
  const given = await member(exchange, 'parameters', '{"parameters":{}}');
  await exchange.site.catalog.load(name, Object.keys(optionalObject(given, 'parameters')));
  exchange.sendNothing(200, []);
}

async function unload(exchange: HttpExchange, name: string): Promise<void> {
  const given = await member(exchange, 'parameters', '{"parameters":{"unload_dependents":true}}');
  const parameters = optionalObject(given, 'parameters');
  booleanParameter(parameters, 'unload_dependents');
  await exchange.site.catalog.unload(name, Object.keys(parameters));
  exchange.sendNothing(200, []);
}

/** The one member that a small body may have. `example`: the largest body that means something, for clients that send another. */
async function member(exchange: HttpExchange, name: string, example: string): Promise<unknown> {
  const compression = contentEncoding(exchange.header);
  const sent = await exchange.body(MOST_CONTROL_BYTES);
  const body = compression === null ? sent : inflate(compression, sent, MOST_CONTROL_BYTES);
  if (body.length === 0) return undefined;
  try {
    const json = parseObject(body, body.length);
    const other = Object.keys(json).find((key) => key !== name);
    if (other !== undefined) throw new ApiError('invalid', `the body has the member ${shown(other)}`);
    return json[name];
  } catch (error) {
    const { kind, message } = asApiError(error);
    throw new ApiError(kind, `${message}; send nothing or ${example}`);
  }
}

function noSuchPath(path: string): ApiError {
  const leftOut = LEFT_OUT.find((one) => one.path.test(path));
  if (leftOut !== undefined) return new ApiError('unimplemented', leftOut.why);
  return new ApiError('unknown', `no such path: ${shown(path)}`);
}

function decoded(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ApiError('invalid', `malformed percent-encoding: ${shown(part)}`);
  }
}
