import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { EscapementError } from '../../core/errors.js';
import type { TargetOptions } from './target.js';
import type { InputDescription } from './tensors.js';

const TIMEOUT_MS = 10_000;

/** What a server tells of itself before the run. */
export interface ServerDescription {
  /** It takes tensors as bytes behind the JSON. */
  readonly binary: boolean;
  /** By model of the run. */
  readonly inputs: readonly (readonly InputDescription[])[];
}

/**
 * Asks a server of the Open Inference Protocol for its models. Throws `E_SERVER` where it cannot be reached, is not
 * ready or answers something else, `E_UNKNOWN_MODEL` where it lacks one of the models.
 */
export async function describeHttpServer(base: URL, options: TargetOptions): Promise<ServerDescription> {
  const api = new HttpApi(base, options);
  try {
    const ready = await api.call('GET', 'v2/health/ready');
    if (ready.status !== 200)
      throw unusable(base, `is not ready (status ${ready.status}): wait until its models are loaded`);
    const server = (await api.json('v2')) as { extensions?: unknown };
    const extensions = Array.isArray(server.extensions) ? server.extensions : [];
    const inputs: InputDescription[][] = [];
    for (const model of options.models) inputs.push(await inputsOf(api, model));
    return { binary: extensions.includes('binary_tensor_data'), inputs };
  } finally {
    api.close();
  }
}

async function inputsOf(api: HttpApi, model: string): Promise<InputDescription[]> {
  const path = `v2/models/${encodeURIComponent(model)}`;
  const { status, body } = await api.call('GET', path);
  if (status === 404 || status === 400) throw unknownModel(model, await api.modelNames());
  const { inputs } = parse(api.base, path, status, body) as { inputs?: unknown };
  if (Array.isArray(inputs) && inputs.every(isInput)) return inputs;
  throw unusable(api.base, `does not tell the inputs of model ${model} at ${path}`);
}

/** The error for a model that a server lacks. `known`: null where the server does not list its models. */
export function unknownModel(model: string, known: readonly string[] | null): EscapementError {
  const has = known === null ? 'and does not say what it has' : `it has ${known.join(', ') || 'none'}`;
  return new EscapementError(
    'E_UNKNOWN_MODEL',
    `the server has no model ${model}; ${has}: give the experiment's models the server's names`,
  );
}

function unusable(base: URL, what: string): EscapementError {
  return new EscapementError('E_SERVER', `${base.origin} ${what}`);
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

class HttpApi {
  private readonly agent: PlainAgent;
  private readonly headers: Record<string, string>;

  constructor(
    readonly base: URL,
    { token, ca, insecure }: TargetOptions,
  ) {
    const tls = { ...(ca === undefined ? {} : { ca }), rejectUnauthorized: insecure !== true };
    this.agent =
      base.protocol === 'https:'
        ? new TlsAgent({ keepAlive: true, ...tls })
        : new PlainAgent({ keepAlive: true });
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  call(method: 'GET' | 'POST', path: string): Promise<Reply> {
    const send = this.base.protocol === 'https:' ? tlsRequest : plainRequest;
    return new Promise((resolve, reject) => {
      const failed = (error: Error) => reject(unusable(this.base, `cannot be reached: ${reasonOf(error)}`));
      const request = send(
        new URL(path, this.base),
        { method, agent: this.agent, headers: this.headers, timeout: TIMEOUT_MS },
        (response) =>
          readBody(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), failed),
      );
      request.on('timeout', () =>
        request.destroy(new Error(`no answer to ${path} in ${TIMEOUT_MS / 1000} s`)),
      );
      request.on('error', failed);
      request.end();
    });
  }

  async json(path: string): Promise<unknown> {
    const { status, body } = await this.call('GET', path);
    return parse(this.base, path, status, body);
  }

  /** Null where the server has no index of its repository. */
  async modelNames(): Promise<string[] | null> {
    const path = 'v2/repository/index';
    const { status, body } = await this.call('POST', path);
    if (status !== 200) return null;
    const index = parse(this.base, path, status, body);
    return Array.isArray(index) ? index.map(({ name }) => String(name)) : null;
  }

  close(): void {
    this.agent.destroy();
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += text;
  return body;
}

function parse(base: URL, path: string, status: number, body: string): object {
  try {
    const value = status === 200 ? JSON.parse(body) : null;
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below, as any other answer that makes no sense.
  }
  throw unusable(base, `is no server of the Open Inference Protocol: ${path} has status ${status}`);
}

function reasonOf(error: Error): string {
  return error.message || String((error as NodeJS.ErrnoException).code);
}

function isInput(value: unknown): value is InputDescription {
  if (typeof value !== 'object' || value === null) return false;
  const { name, datatype, shape } = value as Partial<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    typeof datatype === 'string' &&
    Array.isArray(shape) &&
    shape.every(Number.isSafeInteger)
  );
}
