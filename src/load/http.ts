import { type Dispatcher, Pool } from 'undici';
import { EscapementError } from '../base/errors.js';
import { protocolHint } from '../base/protocol-hint.js';
import { MIB } from '../base/units.js';
import {
  OUTCOME_ERROR,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../core/request.js';
import { jsonOfBytes } from '../live/frontend/json.js';
import { bytesOfTexts, textsOf } from '../live/texts.js';
import {
  type IndexEntry,
  type ModelMetadata,
  refusedToken,
  type ServerApi,
  type ServerDescription,
  softwareText,
} from './description.js';
import { httpMessage, noAnswer, plainLine, type Reply } from './reply.js';
import { bytesOf, joined, oncePerData, type RequestSpec, requestEncoder } from './requests.js';
import {
  afterPause,
  type Done,
  type LoadRequest,
  type LoadTarget,
  MOST_ANSWER_BYTES,
  type TargetOptions,
} from './target.js';
import type { InputTensor } from './tensors.js';

/** Timeout for a whole metadata request. */
const TIMEOUT_MS = 10_000;
/** Far larger than descriptions of models. */
const MOST_DESCRIPTION_BYTES = 16 * MIB;
/** An input may grow tenfold as JSON. */
const MOST_JSON_TENSOR_BYTES = 32 * MIB;
/** Each connection carries one request at a time. */
const DEFAULT_CONNECTIONS = 256;
/** Number of bytes kept of an error body, rounded up to whole chunks. */
const MOST_FAILURE_BYTES = 4096;

/** Address of a server, to which paths can be added. */
export function baseOf(url: URL): URL {
  return new URL(url.pathname.endsWith('/') ? url.href : `${url.href}/`);
}

/**
 * Connections to the server at `base`, opened on demand up to a limit: each carries one request at a time, and is kept
 * while the server keeps it. Redirects are not followed and failures are not retried.
 */
function openPool(
  base: URL,
  { ca, insecure }: TargetOptions,
  connections: number,
  maxResponseSize: number,
): Pool {
  return new Pool(base.origin, {
    connections,
    maxResponseSize,
    pipelining: 1,
    // The player has its own timeout; 0: no other limit.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { rejectUnauthorized: insecure !== true, ...(ca === undefined ? {} : { ca }) },
  });
}

/** Headers of every request. */
function headersOf({ token }: TargetOptions): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Path of a model on a server; `version`: absent if the server chooses. */
function modelPath(model: string, version?: string): string {
  const versions = version === undefined ? '' : `/versions/${encodeURIComponent(version)}`;
  return `v2/models/${encodeURIComponent(model)}${versions}`;
}

/** A value of JSON whose fields are not trusted. */
type Untrusted = Partial<Record<string, unknown>>;

export class HttpApi implements ServerApi {
  private readonly pool: Pool;

  constructor(
    private readonly base: URL,
    private readonly options: TargetOptions,
  ) {
    this.pool = openPool(base, options, 1, MOST_DESCRIPTION_BYTES);
  }

  async describe(): Promise<Omit<ServerDescription, 'models'>> {
    const ready = await this.call('GET', 'v2/health/ready');
    // Comes first, because any web server may answer 404 to the readiness check.
    const { name, version, extensions } = await this.describeItself();
    if (ready.status !== 200) throw this.notReady(ready.status);
    const binary = Array.isArray(extensions) && extensions.includes('binary_tensor_data');
    return { software: softwareText(name, version), binary };
  }

  async metadata(model: string, version?: string): Promise<ModelMetadata | null> {
    const { status, body } = await this.call('GET', modelPath(model, version));
    if (status === 503) throw this.unusable(`cannot be asked for model ${model} now: ${httpMessage(body)}`);
    return objectIn(status, body);
  }

  async config(model: string, version?: string): Promise<unknown> {
    const { status, body } = await this.call('GET', `${modelPath(model, version)}/config`);
    return objectIn(status, body);
  }

  async isReady(model: string): Promise<boolean> {
    return (await this.call('GET', `${modelPath(model)}/ready`)).status === 200;
  }

  /** Servers without a repository list only names. */
  async index(): Promise<IndexEntry[] | null> {
    const repository = await this.call('POST', 'v2/repository/index');
    const entries = objectIn(repository.status, repository.body);
    if (Array.isArray(entries)) return entries.map((each) => ({ ...each, name: String(each?.name) }));
    const list = await this.call('GET', 'v2/models');
    const { models } = objectIn(list.status, list.body) ?? {};
    return Array.isArray(models) ? models.map((name) => ({ name: String(name) })) : null;
  }

  close(): void {
    this.pool.destroy().catch(() => {});
  }

  private async call(method: 'GET' | 'POST', path: string): Promise<{ status: number; body: string }> {
    const late = new AbortController();
    const problem = new Error(`no answer to ${path} in ${TIMEOUT_MS / 1000} s`);
    const timer = setTimeout(() => late.abort(problem), TIMEOUT_MS);
    const headers = headersOf(this.options);
    try {
      const answer = await this.pool.request({
        method,
        path: new URL(path, this.base).pathname,
        signal: late.signal,
        // Some servers require an object where the protocol has none.
        ...(method === 'GET'
          ? { headers }
          : { body: '{}', headers: { ...headers, 'content-type': 'application/json' } }),
      });
      const reply = { status: answer.statusCode, body: await answer.body.text() };
      if (reply.status !== 401 && reply.status !== 403) return reply;
      throw refusedToken(this.base.origin, this.options, reply.status);
    } catch (error) {
      if (error instanceof EscapementError) throw error;
      const reason = reasonOf(error as Error);
      throw this.unusable(`cannot be reached: ${reason}${protocolHint(this.base.href, reason)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The server's description of itself; a server without one most likely speaks another protocol. */
  private async describeItself(): Promise<Untrusted> {
    const { status, body } = await this.call('GET', 'v2');
    if (status === 503) throw this.notReady(status);
    const place = `${this.base.pathname.replace(/\/$/, '')}/v2`;
    const undescribed = (reason: string) =>
      this.unusable(`does not describe itself at ${place}: ${plainLine(reason)}`);
    if (status !== 200) throw undescribed(`the status is ${status}, not 200`);
    try {
      const value: unknown = JSON.parse(body);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    } catch (error) {
      throw undescribed(`the body is not JSON: ${(error as Error).message}`);
    }
    throw undescribed('the body is not a JSON object');
  }

  private notReady(status: number): EscapementError {
    return this.unusable(`is not ready (status ${status}): wait until its models are loaded`);
  }

  private unusable(what: string): EscapementError {
    return new EscapementError('E_SERVER', `${this.base.origin} ${what}`);
  }
}

/** Null if the answer is a failure, or neither an object nor a list. */
function objectIn(status: number, body: string): Untrusted | null {
  try {
    const value: unknown = status === 200 ? JSON.parse(body) : null;
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** An AggregateError of several addresses has no message of its own. */
function reasonOf(error: Error): string {
  return error.message || String((error as NodeJS.ErrnoException).code);
}

type HttpMessage = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>;

/** A server of the Open Inference Protocol over HTTP/1.1. Tensors are sent as bytes if it accepts that, else as JSON. */
export function openHttpTarget(
  base: URL,
  options: TargetOptions,
  { binary, models }: ServerDescription,
): LoadTarget {
  const dataText = oncePerData((tensor) => Buffer.from(jsonOfBytes(tensor.datatype, tensor.data)));
  const encode = requestEncoder(base.origin, options, models, (spec): HttpMessage => {
    const { headers, pieces } = binary ? binaryBody(spec) : jsonBody(spec, dataText);
    const tenant = spec.tenant === null ? {} : { [spec.tenant[0]]: spec.tenant[1] };
    const length = { 'content-length': String(bytesOf(pieces)) };
    return {
      method: 'POST',
      path: new URL(`${modelPath(spec.model, spec.version)}/infer`, base).pathname,
      headers: { ...headersOf(options), ...tenant, ...headers, ...length },
      body: joined(pieces) as Dispatcher.DispatchOptions['body'] & object,
    };
  });
  return new HttpTarget(base, options, encode);
}

class HttpTarget implements LoadTarget {
  readonly name: string;
  waited = 0;
  private readonly pool: Pool;
  private readonly connections: number;
  private readonly unanswered = new Set<Exchange>();

  constructor(
    private readonly base: URL,
    private readonly options: TargetOptions,
    private readonly encode: (request: LoadRequest) => HttpMessage,
  ) {
    this.name = base.origin;
    this.connections = options.connections ?? DEFAULT_CONNECTIONS;
    this.pool = openPool(base, options, this.connections, MOST_ANSWER_BYTES);
  }

  send(request: LoadRequest, done: Done): void {
    this.dispatch(this.encode(request), done);
  }

  ping(done: Done): void {
    const path = new URL('v2/health/live', this.base).pathname;
    this.dispatch({ method: 'GET', path, headers: headersOf(this.options) }, done);
  }

  dropUnsent(): number {
    const unsent = [...this.unanswered].filter(({ isSent }) => !isSent);
    for (const exchange of unsent) this.unanswered.delete(exchange);
    return unsent.length;
  }

  close(): void {
    this.unanswered.clear();
    this.pool.destroy().catch(() => {});
  }

  private dispatch(message: HttpMessage, done: Done): void {
    const { unanswered } = this;
    if (unanswered.size >= this.connections) this.waited++;
    const exchange = new Exchange(this.options.keepsAnswers === true, unanswered, done);
    unanswered.add(exchange);
    this.pool.dispatch(message, exchange);
  }
}

const SUCCESS: Reply = { status: 'HTTP 200', message: '' };
/** Outcomes of statuses of the protocol; all others are errors. */
const OUTCOMES = new Map<number, Outcome>([
  [200, OUTCOME_OK],
  [429, OUTCOME_REJECTED],
  [504, OUTCOME_TIMEOUT],
]);

/** One request and its answer. Keeps the beginning of a failure and, on request, a success. */
class Exchange implements Dispatcher.DispatchHandler {
  /** True once a connection has taken it. */
  isSent = false;
  private status = 0;
  private readonly kept: Buffer[] = [];
  private bytesToKeep = 0;
  /** Bytes of the JSON before binary tensors. */
  private jsonBytes = Number.POSITIVE_INFINITY;

  constructor(
    private readonly keepsAnswers: boolean,
    /** Requests that still wait for an answer; answers to others are ignored. */
    private readonly unanswered: Set<Exchange>,
    private readonly done: Done,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.isSent = true;
    if (!this.unanswered.has(this)) controller.abort(new Error('it was given up'));
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, unknown>): void {
    this.status = status;
    this.bytesToKeep = status !== 200 ? MOST_FAILURE_BYTES : this.keepsAnswers ? MOST_ANSWER_BYTES : 0;
    if (this.keepsAnswers)
      this.jsonBytes = Number(headers['inference-header-content-length'] ?? this.jsonBytes);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.bytesToKeep <= 0) return;
    this.kept.push(Buffer.from(chunk));
    this.bytesToKeep -= chunk.length;
  }

  onResponseEnd(): void {
    if (this.unanswered.delete(this)) this.done(OUTCOMES.get(this.status) ?? OUTCOME_ERROR, this.reply());
  }

  onResponseError(_: unknown, error: Error): void {
    if (!this.unanswered.delete(this)) return;
    const lack = this.isSent ? 'lost' : 'neverSent';
    afterPause(() => this.done(OUTCOME_ERROR, noAnswer(reasonOf(error), lack)));
  }

  private reply(): Reply {
    const { status, kept, jsonBytes } = this;
    const text = () => Buffer.concat(kept).toString('utf8', 0, jsonBytes);
    if (status !== 200) return { status: `HTTP ${status}`, message: httpMessage(text()) };
    return this.keepsAnswers ? { ...SUCCESS, outputs: () => JSON.parse(text())?.outputs } : SUCCESS;
  }
}

interface HttpBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly Buffer[];
}

function parametersOf({ sloMs, priority }: RequestSpec): object {
  return { slo_ms: sloMs, ...(priority === null ? {} : { priority }) };
}

/** JSON with the shapes, then the bytes of all inputs (the protocol's binary tensor data extension). */
function binaryBody(spec: RequestSpec): HttpBody {
  const inputs = spec.tensors.map(({ data, parameters, ...tensor }) => ({
    ...tensor,
    parameters: { ...parameters, binary_data_size: data.length },
  }));
  const parameters = { ...parametersOf(spec), binary_data_output: true };
  const json = Buffer.from(JSON.stringify({ parameters, inputs }));
  return {
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(json.length),
    },
    pieces: [json, ...spec.tensors.map(({ data }) => data)],
  };
}

/** `dataText`: elements of a tensor as JSON. Throws `E_SERVER` for values that JSON cannot represent. */
function jsonBody(spec: RequestSpec, dataText: (tensor: InputTensor) => Buffer): HttpBody {
  const inputs = spec.tensors.flatMap((tensor, i) => {
    checkJson(spec.model, tensor);
    const { data: _, ...described } = tensor;
    const head = `${i === 0 ? '' : ','}${JSON.stringify(described).slice(0, -1)},"data":[`;
    return [Buffer.from(head), dataText(tensor), Buffer.from(']}')];
  });
  const head = Buffer.from(`{"parameters":${JSON.stringify(parametersOf(spec))},"inputs":[`);
  return {
    headers: { 'content-type': 'application/json' },
    pieces: [head, ...inputs, Buffer.from(']}')],
  };
}

function checkJson(model: string, { name, datatype, data }: InputTensor): void {
  const refuse = (what: string, instead: string) =>
    new EscapementError(
      'E_SERVER',
      `model ${model}: input ${plainLine(name)} ${what}, and the server accepts only JSON: use ${instead}`,
    );
  if (datatype === 'FP16') throw refuse('is of type FP16, which JSON cannot represent', 'gRPC');
  if (datatype === 'BYTES' && !data.equals(bytesOfTexts(textsOf(data))))
    throw refuse('is not UTF-8, which JSON cannot represent', 'gRPC');
  if (data.length > MOST_JSON_TENSOR_BYTES)
    throw refuse(`has ${data.length} bytes`, 'gRPC or a smaller model');
}
