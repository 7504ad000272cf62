import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { plain, skip } from './case.js';
import { type GrpcAnswer, GrpcClient } from './grpc.js';
import { ask, type Endpoint, type Headers, type HttpAnswer, type HttpRequest } from './http.js';
import {
  contentsOf,
  elementsOf,
  type INTEGERS,
  makeInputs,
  type Outputs,
  outputsOfHttp,
  type Tensor,
  type TensorMetadata,
  textsOf,
} from './tensors.js';

/** The model that cases ask, as the server describes it. */
export interface Model {
  readonly name: string;
  /** One that may be asked for; null: the server names none. */
  readonly version: string | null;
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Integers that it accepts. */
  readonly integers: (typeof INTEGERS)[number];
  /** What open sizes other than the first are made of. */
  readonly length: number;
}

/** What is known of the server's configuration, and may be done to it. */
export interface Known {
  /** Whether cases may take the model out of service for a moment. */
  readonly mayUnload: boolean;
  /** Values of the parameter `priority` that it has. */
  readonly priorities: readonly number[];
  /** The header that names a tenant. */
  readonly tenantHeader: string;
  /** A tenant with a limit of its rate. */
  readonly limitedTenant: string | undefined;
}

export const MODEL = '/v2/models/{name}';
export const VERSION = `${MODEL}/versions/{version}`;
export const INFER = `${MODEL}/infer`;
/** What no server has. */
export const MISSING = 'conform-no-such-model';
export const NO_VERSION = '987654321';

const MOST_EXCHANGES = 6;
/** Answers that say "not now" are asked for again so often: a busy server breaks no rule. */
const TRIES = 6;
const PAUSE_MS = 250;
const BUSY_HTTP: readonly number[] = [429, 503, 504];
const BUSY_GRPC: readonly number[] = [
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
];
/** What is asked for again may take so long, if the server lets its clients say so: its own objective may be short. */
const PATIENT_TIMEOUT_US = 30_000_000;

/** What a case works with: clients, and a model to ask. */
export class Trial {
  /** What was sent and what came back, for people; the last few. */
  readonly exchanges: string[] = [];
  readonly grpc: GrpcClient;

  constructor(
    readonly endpoint: Endpoint,
    readonly model: Model,
    readonly known: Known,
  ) {
    this.grpc = new GrpcClient(endpoint);
  }

  /** Asks over HTTP. `{name}` and `{version}` in the path are those of the model. */
  async http(method: string, path: string, request: HttpRequest = {}): Promise<HttpAnswer> {
    const { name, version } = this.model;
    if (path.includes('{version}') && version === null) skip('the metadata names no version');
    const filled = path
      .replace('{name}', encodeURIComponent(name))
      .replace('{version}', encodeURIComponent(version ?? ''));
    const base = this.endpoint.url.pathname.replace(/\/+$/, '');
    const whole = path.startsWith('/') ? base + filled : filled;
    const sent = `${method} ${whole} ${typeof request.body === 'object' ? JSON.stringify(request.body) : (request.body ?? '')}`;
    const answer = await ask(this.endpoint, method, whole, request);
    this.note(sent, `${answer.status} ${answer.text}`);
    return answer;
  }

  /** Inputs that the model takes; another seed, other values. */
  inputs(seed = 0, rows = 1): Tensor[] {
    return makeInputs(this.model.inputs, { ...this.model, seed, rows });
  }

  /** An inference over HTTP with inputs as JSON. */
  infer(more: object = {}, inputs: unknown = jsonInputs(this.inputs())): Promise<HttpAnswer> {
    return this.postInfer({ ...more, inputs });
  }

  /** Any body to the model's `infer`, again if the server was busy. */
  postInfer(body: unknown, headers: Headers = {}, path = INFER): Promise<HttpAnswer> {
    const isObject = typeof body === 'object' && !Array.isArray(body) && !(body instanceof Uint8Array);
    const patient = isObject ? withTimeout(body as object, PATIENT_TIMEOUT_US) : body;
    return patiently(
      (isAgain) => this.http('POST', path, { body: isAgain ? patient : body, headers }),
      (answer) => BUSY_HTTP.includes(answer.status),
      (answer) => answer.status === 400,
    );
  }

  /** The outputs that any other way to ask must lead to as well. */
  async reference(seed = 0): Promise<Outputs> {
    return outputsOfHttp(await this.infer({}, jsonInputs(this.inputs(seed))));
  }

  async call(method: string, message: object): Promise<GrpcAnswer> {
    return this.noted(method, await this.grpc.call(method, message));
  }

  /** A `ModelInfer`, again if the server was busy. */
  inferGrpc(request: object, client = this.grpc): Promise<GrpcAnswer> {
    const patient = withTimeout(request, { int64_param: PATIENT_TIMEOUT_US });
    return patiently(
      async (isAgain) =>
        this.noted('ModelInfer', await client.call('ModelInfer', isAgain ? patient : request)),
      ({ code }) => BUSY_GRPC.includes(code),
      ({ code }) => code === status.INVALID_ARGUMENT,
    );
  }

  /** A `ModelInferRequest` with raw inputs. */
  rawRequest(more: object = {}, tensors: readonly Tensor[] = this.inputs()): object {
    const inputs = tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape }));
    const raw = tensors.map(({ bytes }) => bytes);
    return { model_name: this.model.name, inputs, raw_input_contents: raw, ...more };
  }

  /** A `ModelInferRequest` with lists of values. */
  typedRequest(more: object = {}): object {
    const inputs = this.inputs().map((tensor) => {
      const { name, datatype, shape, bytes } = tensor;
      const list = contentsOf(datatype) ?? skip(`${datatype} has no list of values`);
      const values = datatype === 'BYTES' ? textsOf(bytes) : elementsOf(tensor);
      return { name, datatype, shape, contents: { [list]: values } };
    });
    return { model_name: this.model.name, inputs, ...more };
  }

  note(sent: string, got: string): void {
    this.exchanges.push(`${plain(sent, 400)} → ${plain(got, 400)}`);
    if (this.exchanges.length > MOST_EXCHANGES) this.exchanges.shift();
  }

  private noted(method: string, answer: GrpcAnswer): GrpcAnswer {
    this.note(`gRPC ${method}`, answer.text);
    return answer;
  }
}

/** An input of a JSON request. */
export interface JsonInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}

/** Inputs with their data as JSON, in one list each. */
export function jsonInputs(tensors: readonly Tensor[]): JsonInput[] {
  return tensors.map((tensor) => {
    const { name, datatype, shape } = tensor;
    return { name, datatype, shape, data: elementsOf(tensor) };
  });
}

function withTimeout(body: object, timeout: unknown): object {
  const { parameters } = body as { readonly parameters?: object };
  return { ...body, parameters: { timeout, ...parameters } };
}

/**
 * Asks until the server is not busy. The first time as it is, then with a timeout of the request's own; if the server does
 * not take that, without.
 */
async function patiently<A>(
  once: (isAgain: boolean) => Promise<A>,
  isBusy: (answer: A) => boolean,
  isRefused: (answer: A) => boolean,
): Promise<A> {
  let mayExtend = true;
  for (let tries = 1; ; tries++) {
    const isAgain = tries > 1 && mayExtend;
    let answer = await once(isAgain);
    if (isAgain && isRefused(answer)) {
      mayExtend = false;
      answer = await once(false);
    }
    if (tries === TRIES || !isBusy(answer)) return answer;
    await sleep(PAUSE_MS * tries);
  }
}
