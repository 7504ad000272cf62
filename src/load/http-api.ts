import { type Dispatcher, Pool } from 'undici';
import { EscapementError } from '../base/errors.js';
import { protocolHint } from '../base/protocol-hint.js';
import { MIB } from '../base/units.js';
import {
  describeModel,
  type IndexEntry,
  type ModelApi,
  type ModelDescription,
  type ModelMetadata,
  readyModels,
  type ServerDescription,
  softwareText,
} from './description.js';
import { httpMessage, plainLine } from './reply.js';
import type { TargetOptions } from './target.js';

/** Timeout for a whole answer. */
const TIMEOUT_MS = 10_000;
/** Far larger than descriptions of models. */
const MOST_ANSWER_BYTES = 16 * MIB;

/**
 * Asks a server of the Open Inference Protocol for its models. Throws `E_SERVER` if it cannot be reached, is not ready
 * or speaks something else, `E_UNKNOWN_MODEL` if it lacks one of the models. `asksBatch`: also for batches.
 */
export async function describeHttpServer(
  base: URL,
  options: TargetOptions,
  asksBatch = false,
): Promise<ServerDescription> {
  const api = new HttpApi(base, options);
  try {
    const ready = await api.call('GET', 'v2/health/ready');
    // Comes first: any web server may answer 404 about its readiness.
    const { name, version, extensions } = await api.describe();
    if (ready.status !== 200) throw notReady(base, ready.status);
    const models: ModelDescription[] = [];
    for (const model of options.models) models.push(await describeModel(api, model, asksBatch));
    return {
      software: softwareText(name, version),
      binary: Array.isArray(extensions) && extensions.includes('binary_tensor_data'),
      models,
    };
  } finally {
    api.close();
  }
}

/** Models that a server has ready; null if not listed. Throws `E_SERVER` if unreachable or not of the protocol. */
export async function listHttpModels(base: URL, options: TargetOptions): Promise<string[] | null> {
  const api = new HttpApi(base, options);
  try {
    await api.describe();
    return readyModels(await api.index());
  } finally {
    api.close();
  }
}

/** Path of a model on a server; `version`: absent if the server chooses. */
export function modelPath(model: string, version?: string): string {
  const versions = version === undefined ? '' : `/versions/${encodeURIComponent(version)}`;
  return `v2/models/${encodeURIComponent(model)}${versions}`;
}

/** Error for a server that requires a token, or another one. `reply`: its answer. */
export function refusedToken(
  server: string,
  token: string | undefined,
  reply: number | string,
): EscapementError {
  const what = token === undefined ? 'requires a token' : 'rejects the token';
  const hint = token === undefined ? 'pass a file with it' : 'pass a file with the right one';
  return new EscapementError('E_SERVER', `${server} ${what} (status ${reply}): ${hint} to --token-file`);
}

/** Error for a server without the protocol's self-description: most likely it speaks another protocol. */
function undescribed(url: URL, reason: string, hint = ''): EscapementError {
  const place = `${url.pathname.replace(/\/$/, '')}/v2`;
  return unusable(url, `does not describe itself at ${place}: ${plainLine(reason)}${hint}`);
}

function notReady(base: URL, status: number): EscapementError {
  return unusable(base, `is not ready (status ${status}): wait until its models are loaded`);
}

function unusable(base: URL, what: string): EscapementError {
  return new EscapementError('E_SERVER', `${base.origin} ${what}`);
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

class HttpApi implements ModelApi {
  private readonly pool: Pool;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly token: string | undefined;

  constructor(
    readonly base: URL,
    options: TargetOptions,
  ) {
    this.token = options.token;
    this.pool = openPool(base, options, 1);
    this.headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  }

  async call(method: 'GET' | 'POST', path: string): Promise<Reply> {
    const late = new AbortController();
    const problem = new Error(`no answer to ${path} in ${TIMEOUT_MS / 1000} s`);
    const timer = setTimeout(() => late.abort(problem), TIMEOUT_MS);
    // Some servers require an object where the protocol has none.
    const sent =
      method === 'GET'
        ? {}
        : { body: '{}', headers: { ...this.headers, 'content-type': 'application/json' } };
    try {
      const { pathname } = new URL(path, this.base);
      const options = { method, path: pathname, headers: this.headers, signal: late.signal, ...sent };
      const answer = await this.pool.request(options);
      const reply = { status: answer.statusCode, body: await readBody(answer.body) };
      if (reply.status !== 401 && reply.status !== 403) return reply;
      throw refusedToken(this.base.origin, this.token, reply.status);
    } catch (error) {
      if (error instanceof EscapementError) throw error;
      const reason = reasonOf(error as Error);
      const hint = protocolHint(this.base.href, reason);
      throw unusable(this.base, `cannot be reached: ${reason}${hint}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Self-description of the server. */
  async describe(): Promise<Partial<Record<string, unknown>>> {
    const { status, body } = await this.call('GET', 'v2');
    if (status === 503) throw notReady(this.base, status);
    if (status !== 200) throw undescribed(this.base, `the status is ${status}, not 200`);
    try {
      const value: unknown = JSON.parse(body);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    } catch (error) {
      throw undescribed(this.base, `the body is not JSON: ${(error as Error).message}`);
    }
    throw undescribed(this.base, 'the body is not a JSON object');
  }

  async metadata(model: string, version?: string): Promise<ModelMetadata | null> {
    const { status, body } = await this.call('GET', modelPath(model, version));
    if (status === 503)
      throw unusable(this.base, `cannot be asked for model ${model} now: ${httpMessage(body)}`);
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
    if (Array.isArray(entries))
      return entries.map((each) => ({
        name: String(each?.name),
        version: each?.version,
        state: each?.state,
      }));
    const list = await this.call('GET', 'v2/models');
    const { models } = objectIn(list.status, list.body) ?? {};
    return Array.isArray(models) ? models.map((name) => ({ name: String(name) })) : null;
  }

  close(): void {
    this.pool.destroy().catch(() => {});
  }
}

async function readBody(body: Dispatcher.ResponseData['body']): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk as Buffer, { stream: true });
    if (text.length > MOST_ANSWER_BYTES) throw new Error('an answer is longer than any description');
  }
  return text + decoder.decode();
}

/** Null if the answer is a failure, or neither an object nor a list. */
function objectIn(status: number, body: string): Partial<Record<string, unknown>> | null {
  try {
    const value: unknown = status === 200 ? JSON.parse(body) : null;
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/**
 * Connections to the server at `base`, opened on demand up to a limit: each carries one request at a time, and is kept
 * while the server keeps it. Redirects are not followed and failures are not retried.
 */
export function openPool(
  base: URL,
  { ca, insecure }: Pick<TargetOptions, 'ca' | 'insecure'>,
  connections: number,
): Pool {
  return new Pool(base.origin, {
    connections,
    pipelining: 1,
    // The player has its own timeout; 0: no other limit.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { rejectUnauthorized: insecure !== true, ...(ca === undefined ? {} : { ca }) },
  });
}

/** An AggregateError of several addresses has no message of its own. */
export function reasonOf(error: Error): string {
  return error.message || String((error as NodeJS.ErrnoException).code);
}
