import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import type { InferenceService } from '../service.js';
import { listen, renewTls } from '../wire/listener.js';
import { ApiError, asApiError, serverNotReady, shown } from './api-error.js';
import { answerOf, Call, expectedBytes, mostBytes } from './call.js';
import {
  type Frontend,
  type FrontendOptions,
  type FrontendSettings,
  settle,
  type TurnedAway,
} from './frontend.js';
import {
  acceptedEncoding,
  answerJson,
  contentEncoding,
  type DecodeTask,
  decodeBody,
  inflate,
} from './http-body.js';
import {
  ALLOW,
  checkFraming,
  type HttpConnection,
  HttpExchange,
  HttpSite,
  hangUp,
  type ParserError,
  parserProblem,
} from './http-exchange.js';
import { booleanParameter, type Inference } from './inference.js';
import { bufferBytes, optionalObject, parseObject } from './json.js';
import {
  GRACE_MS,
  INLINE_BODY_BYTES,
  INLINE_JSON_BYTES,
  MOST_CONTROL_BYTES,
  MOST_HEADER_BYTES,
  MOST_PIPELINED,
  mostAnswerBytes,
} from './limits.js';
import { checkToken } from './site.js';

/** Time for which a closing server keeps listening, so that requests in transit are answered, not reset. */
const LAST_CALL_MS = 250;

/**
 * Opens the HTTP/JSON transport of the Open Inference Protocol with the binary tensor data, classification, statistics,
 * model configuration and model repository extensions. Throws `E_LISTEN` if the address cannot be listened on and
 * `E_TLS` for an unusable certificate.
 *
 * @example
 * const frontend = await openHttpFrontend(service, { port: 8000, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await frontend.close(true);
 */
export async function openHttpFrontend(
  service: InferenceService,
  options: FrontendOptions,
  turnedAway: TurnedAway = () => {},
): Promise<Frontend> {
  const settings = settle(options);
  const site = new HttpSite(service, settings, turnedAway);
  const server = newServer(settings);
  const connections = new Map<Socket, HttpConnection>();
  server.on('connection', (socket: Socket) => void site.admit(socket));
  server.on(settings.tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
    // It may have been turned away.
    if (socket.destroyed) return;
    const exchanges = new Set<HttpExchange>();
    connections.set(socket, { account: site.accountOf(socket), exchanges });
    socket.once('close', () => {
      connections.delete(socket);
      for (const exchange of exchanges) exchange.end();
    });
  });
  const take = (asksFirst: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined) return;
    if (connection.exchanges.size >= MOST_PIPELINED) {
      socket.destroy();
      return;
    }
    const exchange = new HttpExchange(site, connection, request, response, asksFirst);
    exchange.attempt(() => dispatch(exchange));
  };
  server.on('request', take(false));
  server.on('checkContinue', take(true));
  // What else a client may expect does not matter.
  server.on('checkExpectation', take(false));
  server.on('clientError', (error: ParserError, duplex) => {
    const socket = duplex as Socket;
    const problem = parserProblem(error);
    if (problem?.kind === 'tooSlow') site.apiErrors.add('tooSlow');
    const last = [...(connections.get(socket)?.exchanges ?? [])].at(-1);
    if (problem === null) socket.destroy();
    else if (last === undefined) hangUp(socket, problem);
    else last.endConnection(problem);
  });
  server.setTimeout(settings.idleTimeoutMs, (socket) => {
    const [exchange] = connections.get(socket)?.exchanges ?? [];
    // Its client may wait for the service for as long as the SLO.
    if (exchange?.request.complete !== true || socket.writableLength > 0) socket.destroy();
  });
  const port = await listen(server, settings, ' for HTTP');
  return { port, close: (graceful) => close(graceful), renew: (tls) => renewTls(server, tls) };

  async function close(graceful: boolean): Promise<void> {
    site.isClosing = true;
    if (graceful) await new Promise((resolve) => setTimeout(resolve, LAST_CALL_MS));
    const giveUp = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    // Idle connections end now, the others with their last answer.
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    if (!graceful) server.closeAllConnections();
    await closed;
    clearTimeout(giveUp);
    await site.codec.close();
  }
}

function newServer({ tls, ...settings }: FrontendSettings): Server {
  const { headersTimeoutMs, requestTimeoutMs, handshakeTimeoutMs } = settings;
  const options = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    // Two timers for each request; the timeout of the server is one per connection.
    keepAliveTimeout: 0,
    // Refused with a reason instead.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
    connectionsCheckingInterval: Math.ceil(Math.min(headersTimeoutMs, requestTimeoutMs) / 10),
    noDelay: true,
  };
  if (tls === null) return createServer(options);
  return createTlsServer({ ...options, ...tls, handshakeTimeout: handshakeTimeoutMs });
}

/** Gets the parts of the path and returns the answer, sent as JSON. Throws an `ApiError`. */
type Handler = (exchange: HttpExchange, name: string, version: string) => unknown;

const MODEL = '/v2/models/([^/]+)(?:/versions/([^/]+))?';
const REPOSITORY_MODEL = '/v2/repository/models/([^/]+)';

/** All routes of the HTTP port, with who may use them; the first match counts. */
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
    catalog.checkReady(catalog.find(name, version));
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
    why: 'logs and journals are set up on the command line',
  },
];

/** Headers that browsers may send from pages of other origins. */
const CORS_HEADERS =
  'authorization, content-type, content-encoding, inference-header-content-length, traceparent';

/** Answers a request with its handler's result as JSON, if any. Throws an `ApiError`, or rejects with it. */
function dispatch(exchange: HttpExchange): unknown {
  const { request, path, site, header } = exchange;
  checkFraming(request);
  // A client that asks whether to go on may leave out the body.
  exchange.isLast = exchange.asksFirst;
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
  const reply = (value: unknown) => {
    if (value === undefined) return;
    const json = Buffer.from(JSON.stringify(value));
    exchange.hold(json.length);
    exchange.sendJson(200, json);
  };
  const handle = () => found.handle(exchange, decoded(name), decoded(version));
  const value =
    exchange.isInfer && site.service.state.takesOver === true
      ? site.service.takeOver().then(handle)
      : handle();
  return value instanceof Promise ? value.then(reply) : reply(value);
}

/** Lists the methods of a path. Takes no token, as browsers send none with OPTIONS, and reveals nothing of models. */
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
  exchange.send(204, headers);
}

/** `problem`: why the server is not live or not ready; null: it is. */
function health(exchange: HttpExchange, asked: 'live' | 'ready', problem: string | null): void {
  const answer = problem === null ? { [asked]: true } : { [asked]: false, error: problem };
  exchange.sendJson(problem === null ? 200 : 503, JSON.stringify(answer));
}

function live(exchange: HttpExchange): void {
  const { notReady, hangs = false } = exchange.site.service.state;
  health(exchange, 'live', hangs ? notReady : null);
}

function ready(exchange: HttpExchange): void {
  const { notReady } = exchange.site.service.state;
  health(exchange, 'ready', notReady === null ? null : serverNotReady(notReady));
}

async function repositoryIndex(exchange: HttpExchange): Promise<object> {
  const onlyReady = (await member(exchange, 'ready', '{"ready":true}')) ?? false;
  if (typeof onlyReady === 'boolean') return exchange.site.catalog.index(onlyReady);
  throw new ApiError('invalid', `ready: expected true or false, got ${shown(onlyReady)}`);
}

async function load(exchange: HttpExchange, name: string): Promise<void> {
  const given = await member(exchange, 'parameters', '{"parameters":{}}');
  await exchange.site.catalog.load(name, optionalObject(given, 'parameters'));
  exchange.send(200, []);
}

async function unload(exchange: HttpExchange, name: string): Promise<void> {
  const given = await member(exchange, 'parameters', '{"parameters":{"unload_dependents":true}}');
  const parameters = optionalObject(given, 'parameters');
  booleanParameter(parameters, 'unload_dependents');
  await exchange.site.catalog.unload(name, Object.keys(parameters));
  exchange.send(200, []);
}

/** The one member that a small body may have. `example`: the largest body that means something, for clients that send another. */
async function member(exchange: HttpExchange, name: string, example: string): Promise<unknown> {
  const compression = contentEncoding(exchange.header);
  const pieces = await new Promise<readonly Buffer[]>((resolve) =>
    exchange.body(MOST_CONTROL_BYTES, '', resolve),
  );
  const sent = Buffer.concat(pieces);
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

/** Outputs of more than this are compressed as JSON, where the client accepts that. */
const COMPRESSED_BYTES = 4 * KIB;

/** POST …/infer: from the body to the service. Throws an `ApiError`. */
function infer(exchange: HttpExchange, name: string, version: string): void {
  const { site, header } = exchange;
  const { catalog, settings } = site;
  exchange.label = catalog.find(name, version).label;
  const compression = contentEncoding(header);
  const jsonHeader = header['inference-header-content-length'] as string | undefined;
  const { maxBodyBytes } = settings;
  const isJson = compression === null && jsonHeader === undefined;
  const limitBytes = isJson ? Math.min(settings.maxJsonBytes, maxBodyBytes) : maxBodyBytes;
  const advice = limitBytes < maxBodyBytes ? ': send large tensors as binary data' : '';
  exchange.body(limitBytes, advice, (pieces) => {
    // The model may have changed meanwhile.
    const entry = catalog.find(name, version);
    const model = catalog.ready(entry);
    const task = { pieces, compression, jsonHeader, model, limits: settings };
    const submit = (asked: Inference) => ask(exchange, entry.index, model, asked);
    return isSmall(task)
      ? submit(decodeBody(task))
      : exchange.heldUntil(site.codec.decode(task)).then(submit);
  });
}

/** Passes an inference of a client to the service. Throws an `ApiError`. */
function ask(exchange: HttpExchange, index: number, model: ServedModel, asked: Inference): void {
  if (exchange.isGone) return;
  const { site, header, connection, arrivalNs, trace } = exchange;
  const answerBytes = expectedBytes(model.signature, asked, mostAnswerBytes(site.settings));
  exchange.hold(bufferBytes(asked.inputs) + answerBytes);
  const call = new Call(asked, connection.account, () => {
    if (!exchange.isGone) exchange.attempt(() => sendAnswer(exchange, call, model, answerBytes));
  });
  const tenant = site.tenantOf((name) => header[name]);
  call.submit(site.service, { model: index, arrivalNs, tenant, trace });
  exchange.call = call;
}

/** True if decoding holds up no other requests. */
function isSmall({ pieces, compression, jsonHeader }: DecodeTask): boolean {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const jsonBytes = jsonHeader === undefined ? bytes : Number(jsonHeader);
  return compression === null && jsonBytes <= INLINE_JSON_BYTES && bytes <= INLINE_BODY_BYTES;
}

/** Sends the answer to a call, or a promise of that. Throws an `ApiError`, or rejects with it. */
function sendAnswer(exchange: HttpExchange, call: Call, model: ServedModel, heldBytes: number): unknown {
  const answer = answerOf(call, model);
  // Sizes that the model chose.
  const bound = mostBytes(answer.outputs, mostAnswerBytes(exchange.site.settings));
  if (bound > heldBytes) exchange.hold(bound);
  const tensors: Uint8Array[] = [];
  let jsonBytes = 0;
  for (const { binary, parts, bytes } of answer.outputs)
    if (binary) tensors.push(...parts);
    else jsonBytes += bytes;
  const isLong = jsonBytes > COMPRESSED_BYTES && tensors.length === 0;
  const compression = isLong ? acceptedEncoding(exchange.header) : null;
  const finish = (json: string | Uint8Array) => exchange.sendInference(json, tensors, compression);
  const isInline = jsonBytes <= INLINE_JSON_BYTES && compression === null;
  if (isInline) return finish(answerJson(answer));
  return exchange.heldUntil(exchange.site.codec.encode({ answer, compression })).then(finish);
}
