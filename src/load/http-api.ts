import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { EscapementError } from '../base/errors.js';
import { protocolHint } from '../base/protocol-hint.js';
import { MIB } from '../base/units.js';
import {
  hasLength,
  type IndexEntry,
  isTensorList,
  lengthsOf,
  type ModelDescription,
  namesOf,
  readyModels,
  type ServerDescription,
  softwareText,
} from './description.js';
import { plainLine } from './reply.js';
import type { TargetOptions } from './target.js';

/** For a whole answer. */
const TIMEOUT_MS = 10_000;
/** Descriptions of models are far smaller. */
const MOST_ANSWER_BYTES = 16 * MIB;
/** Models that an error names. */
const MOST_NAMES = 20;

/**
 * Asks a server of the Open Inference Protocol for its models. Throws `E_SERVER` where it cannot be reached, is not
 * ready or answers something else, `E_UNKNOWN_MODEL` where it lacks one of the models.
 */
export async function describeHttpServer(base: URL, options: TargetOptions): Promise<ServerDescription> {
  const api = new HttpApi(base, options);
  try {
    const ready = await api.call('GET', 'v2/health/ready');
    // First of all: any web server may answer 404 about its readiness.
    const { name, version, extensions } = await api.describe();
    if (ready.status !== 200) throw notReady(base, ready.status);
    const models: ModelDescription[] = [];
    for (const model of options.models) models.push(await modelOf(api, model));
    return {
      software: softwareText(name, version),
      binary: Array.isArray(extensions) && extensions.includes('binary_tensor_data'),
      models,
    };
  } finally {
    api.close();
  }
}

/**
 * The models that a server has ready; null: it does not list them. Throws `E_SERVER` where it cannot be reached or is no server
 * of the protocol.
 */
export async function listHttpModels(base: URL, options: TargetOptions): Promise<string[] | null> {
  const api = new HttpApi(base, options);
  try {
    await api.describe();
    return readyModels(await api.index());
  } finally {
    api.close();
  }
}

async function modelOf(api: HttpApi, model: string): Promise<ModelDescription> {
  const path = `v2/models/${encodeURIComponent(model)}`;
  const { status, body } = await api.call('GET', path);
  if (status === 404 || status === 400) throw unknownModel(model, namesOf(await api.index()));
  if (status === 503)
    throw unusable(api.base, `cannot be asked for model ${model} now: ${plainLine(errorIn(body))}`);
  const { inputs, outputs } = parse(api.base, path, status, body) as Partial<Record<string, unknown>>;
  if (isTensorList(inputs)) {
    const lengths = hasLength(inputs) ? lengthsOf(await configOf(api, path)) : null;
    return {
      inputs,
      outputs: isTensorList(outputs) ? outputs : [],
      ...(lengths === null ? {} : { lengths }),
    };
  }
  throw unusable(api.base, `does not describe the inputs of model ${model} at ${path}`);
}

/** Null: the server has no such extension. */
async function configOf(api: HttpApi, path: string): Promise<unknown> {
  const { status, body } = await api.call('GET', `${path}/config`);
  try {
    return status === 200 ? JSON.parse(body) : null;
  } catch {
    return null;
  }
}

/** The error for a model that a server lacks. `known`: null where the server does not list its models. */
export function unknownModel(model: string, known: readonly string[] | null): EscapementError {
  const has = known === null ? 'and does not list its models' : `it has ${someOf(known) || 'none'}`;
  return new EscapementError(
    'E_UNKNOWN_MODEL',
    `the server has no model ${model}; ${has}: use the server's names for the models of the experiment`,
  );
}

function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return names.slice(0, MOST_NAMES).map(plainLine).join(', ') + more;
}

/** The error for a server that wants a token, or another one. `reply`: how it said so. */
export function refusedToken(
  server: string,
  token: string | undefined,
  reply: number | string,
): EscapementError {
  const what = token === undefined ? 'requires a token' : 'rejects the token';
  const hint = token === undefined ? 'pass a file with it' : 'pass a file with the right one';
  return new EscapementError('E_SERVER', `${server} ${what} (status ${reply}): ${hint} to --token-file`);
}

/** The error for a server that does not say what it is where the protocol wants it: most likely it speaks another one. */
export function undescribed(url: URL, reason: string, hint = ''): EscapementError {
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

class HttpApi {
  private readonly agent: PlainAgent;
  private readonly headers: Record<string, string>;
  private readonly token: string | undefined;

  constructor(
    readonly base: URL,
    { token, ca, insecure }: TargetOptions,
  ) {
    this.token = token;
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
      const failed = (error: Error) => {
        const reason = reasonOf(error);
        const hint = protocolHint(this.base.href, reason);
        reject(unusable(this.base, `cannot be reached: ${reason}${hint}`));
      };
      const request = send(
        new URL(path, this.base),
        { method, agent: this.agent, headers: this.headers },
        (response) =>
          readBody(response).then((body) => {
            const status = response.statusCode ?? 0;
            if (status === 401 || status === 403) reject(refusedToken(this.base.origin, this.token, status));
            else resolve({ status, body });
          }, failed),
      );
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer to ${path} in ${TIMEOUT_MS / 1000} s`)),
        TIMEOUT_MS,
      );
      request.on('error', failed);
      request.on('close', () => clearTimeout(timer));
      request.end();
    });
  }

  /** What the server says of itself. */
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

  /** Null where the server has no index of its repository. */
  async index(): Promise<IndexEntry[] | null> {
    const path = 'v2/repository/index';
    const { status, body } = await this.call('POST', path);
    if (status !== 200) return null;
    const index = parse(this.base, path, status, body);
    if (!Array.isArray(index)) return null;
    return index.map((entry) => ({ name: String(entry?.name), state: entry?.state }));
  }

  close(): void {
    this.agent.destroy();
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  let body = '';
  for await (const text of response.setEncoding('utf8')) {
    body += text;
    if (body.length > MOST_ANSWER_BYTES) throw new Error('an answer is longer than any description');
  }
  return body;
}

function parse(base: URL, path: string, status: number, body: string): object {
  try {
    const value = status === 200 ? JSON.parse(body) : null;
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below, like any other invalid answer.
  }
  throw unusable(base, `is not an Open Inference Protocol server: ${path} has status ${status}`);
}

/** What a server says of why it refuses; '' if it says nothing that is known. */
function errorIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    return '';
  }
}

function reasonOf(error: Error): string {
  return error.message || String((error as NodeJS.ErrnoException).code);
}
