import type { Dispatcher, Pool } from 'undici';
import { EscapementError } from '../base/errors.js';
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
import { describeHttpServer, modelPath, openPool, reasonOf } from './http-api.js';
import { httpMessage, noAnswer, plainLine, type Reply } from './reply.js';
import { assumptions, joined, type RequestSpec, requestEncoder, sharedBytes } from './requests.js';
import { afterPause, type Done, type LoadRequest, type LoadTarget, type TargetOptions } from './target.js';
import type { InputTensor } from './tensors.js';

/** An input may grow tenfold as JSON. */
const MOST_JSON_TENSOR_BYTES = 32 * MIB;
/** Each connection carries one request at a time. */
const DEFAULT_CONNECTIONS = 256;
/** Number of bytes kept of an error body. */
const MOST_FAILURE_BYTES = 4096;

/**
 * A server of the Open Inference Protocol over HTTP/1.1: `http://HOST:PORT`, or `https:`. Tensors are sent as bytes if
 * the server accepts that, else as JSON. Throws `E_SERVER` if the server cannot be used and `E_UNKNOWN_MODEL` if it
 * lacks a model.
 */
export async function openHttpTarget(url: URL, options: TargetOptions): Promise<LoadTarget> {
  const base = baseOf(url);
  const { binary, models } = await describeHttpServer(base, options);
  const { token, senders } = options;
  const authorization = token === undefined ? [] : ['authorization', `Bearer ${token}`];
  const encode = requestEncoder(base.origin, options, models, (spec) => {
    const path = new URL(`${modelPath(spec.model, spec.version)}/infer`, base).pathname;
    const tenant = spec.tenant === null ? [] : [senders?.header as string, spec.tenant];
    const body = binary ? binaryBody(spec) : jsonBody(spec);
    return (sloMs): HttpMessage => {
      const { headers, parts } = body(sloMs);
      const bytes = parts[0].length + parts[1].length;
      return {
        method: 'POST',
        path,
        headers: [...authorization, ...tenant, ...headers, 'content-length', String(bytes)],
        body: joined(...parts) as Dispatcher.DispatchOptions['body'] & object,
      };
    };
  });
  const ping = {
    method: 'GET',
    path: new URL('v2/health/live', base).pathname,
    headers: authorization,
  } as const;
  return new HttpTarget(base.origin, assumptions(options, models), options, base, encode, ping);
}

type HttpMessage = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>;

class HttpTarget implements LoadTarget {
  waited = 0;
  private readonly pool: Pool;
  private readonly connections: number;
  private readonly keptBytes: number;
  private readonly unanswered = new Set<Exchange>();

  constructor(
    readonly name: string,
    readonly assumed: readonly string[],
    options: TargetOptions,
    base: URL,
    private readonly encode: (request: LoadRequest) => HttpMessage,
    private readonly pingMessage: HttpMessage,
  ) {
    this.connections = options.connections ?? DEFAULT_CONNECTIONS;
    this.keptBytes = options.keptBytes ?? 0;
    this.pool = openPool(base, options, this.connections);
  }

  send(request: LoadRequest, done: Done): void {
    this.dispatch(this.encode(request), done);
  }

  ping(done: Done): void {
    this.dispatch(this.pingMessage, done);
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
    const exchange = new Exchange(this.keptBytes, unanswered, done);
    unanswered.add(exchange);
    this.pool.dispatch(message, exchange);
  }
}

/**
 * One request and its answer, of which only the beginning of a failure and, on request, the JSON of a success are kept.
 */
class Exchange implements Dispatcher.DispatchHandler {
  /** True once a connection has taken it. */
  isSent = false;
  private status = 0;
  private readonly kept: Buffer[] = [];
  /** Bytes of the body still to keep; negative if there were more. */
  private bytesLeft = 0;
  /** Bytes still to come of the JSON before binary tensors. */
  private jsonBytesLeft = Number.POSITIVE_INFINITY;

  constructor(
    private readonly keptBytes: number,
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
    this.bytesLeft = status === 200 ? this.keptBytes : MOST_FAILURE_BYTES;
    if (status !== 200 || this.keptBytes === 0) return;
    const jsonBytes = headers['inference-header-content-length'];
    if (jsonBytes !== undefined) this.jsonBytesLeft = Number(jsonBytes);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.bytesLeft <= 0) {
      this.bytesLeft -= Math.min(chunk.length, this.jsonBytesLeft);
      return;
    }
    const part = chunk.subarray(0, Math.min(chunk.length, this.jsonBytesLeft));
    this.jsonBytesLeft -= part.length;
    this.kept.push(Buffer.from(part.subarray(0, this.bytesLeft)));
    this.bytesLeft -= part.length;
  }

  onResponseEnd(): void {
    if (this.unanswered.delete(this)) this.done(outcomeOf(this.status), this.reply());
  }

  onResponseError(_: unknown, error: Error): void {
    if (!this.unanswered.delete(this)) return;
    const lack = this.isSent ? 'lost' : 'neverSent';
    afterPause(() => this.done(OUTCOME_ERROR, noAnswer(reasonOf(error), lack)));
  }

  private reply(): Reply {
    const { status, kept, bytesLeft } = this;
    if (status !== 200) {
      const message = httpMessage(Buffer.concat(kept).toString('utf8'));
      return { status: `HTTP ${status}`, message };
    }
    if (this.keptBytes === 0) return SUCCESS;
    return { ...SUCCESS, outputs: () => outputsOf(bytesLeft < 0 ? null : Buffer.concat(kept)) };
  }
}

/** Outcome for an HTTP status of the protocol. */
function outcomeOf(status: number): Outcome {
  if (status === 200) return OUTCOME_OK;
  if (status === 429) return OUTCOME_REJECTED;
  return status === 504 ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}

const SUCCESS: Reply = { status: 'HTTP 200', message: '' };

function outputsOf(json: Buffer | null): unknown {
  if (json === null) throw new Error('an answer is longer than any that was expected');
  return (JSON.parse(json.toString('utf8')) as { outputs?: unknown } | null)?.outputs;
}

/** Address of a server, to which paths can be added. */
export function baseOf(url: URL): URL {
  return new URL(url.pathname.endsWith('/') ? url.href : `${url.href}/`);
}

interface HttpBody {
  readonly headers: readonly string[];
  readonly parts: readonly [Buffer, Buffer];
}

function parametersOf({ priority }: RequestSpec): { readonly priority?: number } {
  return priority === null ? {} : { priority };
}

/** JSON with the shapes, then the bytes of all inputs (the protocol's binary tensor data extension). */
function binaryBody(spec: RequestSpec): (sloMs: number) => HttpBody {
  const { tensors, shared } = spec;
  const inputs = tensors.map(({ name, datatype, shape, data, parameters }) => ({
    name,
    datatype,
    shape,
    parameters: { ...parameters, binary_data_size: data.length },
  }));
  const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
  const tail = sharedBytes(shared, key, () => Buffer.concat(tensors.map(({ data }) => data)));
  return (sloMs) => {
    const parameters = { slo_ms: sloMs, ...parametersOf(spec), binary_data_output: true };
    const json = Buffer.from(JSON.stringify({ parameters, inputs }));
    const jsonBytes = ['inference-header-content-length', String(json.length)];
    return { headers: ['content-type', 'application/octet-stream', ...jsonBytes], parts: [json, tail] };
  };
}

function jsonBody(spec: RequestSpec): (sloMs: number) => HttpBody {
  const { model, tensors, shared } = spec;
  const key = JSON.stringify(tensors.map(({ data, ...rest }) => rest));
  const tail = sharedBytes(shared, key, () =>
    Buffer.from(`"inputs":[${tensors.map((tensor) => jsonTensor(model, tensor)).join(',')}]}`),
  );
  return (sloMs) => {
    const head = Buffer.from(`{"parameters":${JSON.stringify({ slo_ms: sloMs, ...parametersOf(spec) })},`);
    return { headers: ['content-type', 'application/json'], parts: [head, tail] };
  };
}

/** Throws `E_SERVER` for values that JSON cannot represent. */
function jsonTensor(model: string, { data, ...tensor }: InputTensor): string {
  const { name, datatype } = tensor;
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
  return `${JSON.stringify(tensor).slice(0, -1)},"data":[${jsonOfBytes(datatype, data)}]}`;
}
