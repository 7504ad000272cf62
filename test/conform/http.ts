import { once } from 'node:events';
import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestPlain,
} from 'node:http';
import { request as requestTls } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { check, fail, plain, shown } from './case.js';

/** A server under examination. It is not trusted: answers are limited in time and size. */
export interface Endpoint {
  readonly url: URL;
  /** `HOST:PORT`; null: the server has no gRPC, or its address is not known. */
  readonly grpc: string | null;
  readonly token?: string | undefined;
  /** Longest wait for one answer. */
  readonly timeoutMs: number;
}

export type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly headers?: Headers;
  /** Text, bytes, or a value to be sent as JSON; a list of buffers is sent in parts, with a pause after each. */
  readonly body?: unknown;
  /** Keeps connections; by default each request has its own. */
  readonly agent?: Agent;
}

const MOST_ANSWER_BYTES = 64 * 1024 * 1024;
const PAUSE_MS = 2;

// biome-ignore lint/suspicious/noExplicitAny: nothing is known of what a server sends
export type Loose = any;

/** An answer over HTTP. */
export class HttpAnswer {
  constructor(
    readonly status: number,
    readonly headers: IncomingHttpHeaders,
    readonly body: Buffer,
    /** Whether it came on the connection of an answer before it. */
    readonly reused = false,
  ) {}

  get text(): string {
    return this.body.toString('utf8');
  }

  /** The JSON object in front of binary data, or the whole body. Fails if it is none. */
  json(): Loose {
    try {
      return JSON.parse(this.body.toString('utf8', 0, this.jsonBytes));
    } catch (error) {
      return fail(
        this.text === '' ? 'the body is empty' : `the body is not JSON: ${(error as Error).message}`,
      );
    }
  }

  /** What follows the JSON; null: the answer has no binary data. */
  get binary(): Buffer | null {
    return this.binaryLength === undefined ? null : this.body.subarray(this.jsonBytes);
  }

  private get binaryLength(): string | undefined {
    return this.headers['inference-header-content-length'] as string | undefined;
  }

  private get jsonBytes(): number {
    const length = this.binaryLength ?? String(this.body.length);
    const fits = /^\d+$/.test(length) && Number(length) <= this.body.length;
    check(fits, `Inference-Header-Content-Length is ${shown(length)} of ${this.body.length} bytes`);
    return Number(length);
  }
}

/** Asks once. Fails if no answer comes. */
export async function ask(
  { url, token, timeoutMs }: Endpoint,
  method: string,
  path: string,
  { headers = {}, body, agent }: HttpRequest,
): Promise<HttpAnswer> {
  const parts: Buffer[] = body === undefined ? [] : Array.isArray(body) ? body : [bytesOf(body)];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const all: Headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(body === undefined || headers['transfer-encoding'] ? {} : { 'content-length': String(length) }),
    ...authorization(token),
    ...headers,
  };
  const signal = AbortSignal.timeout(timeoutMs);
  const request = url.protocol === 'https:' ? requestTls : requestPlain;
  const sent = request(url, { method, path, headers: all, agent: agent ?? (false as const), signal });
  try {
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    // It may fail while parts are sent, and after it answered.
    answered.catch(() => {});
    sent.on('error', () => {});
    for (const part of parts) {
      sent.write(part);
      if (parts.length > 1) await sleep(PAUSE_MS);
    }
    sent.end();
    const [answer] = await answered;
    const chunks: Buffer[] = [];
    for await (const chunk of answer) {
      chunks.push(chunk);
      const bytes = chunks.reduce((sum, each) => sum + each.length, 0);
      check(bytes <= MOST_ANSWER_BYTES, `the answer is longer than ${MOST_ANSWER_BYTES} bytes`);
    }
    return new HttpAnswer(answer.statusCode!, answer.headers, Buffer.concat(chunks), sent.reusedSocket);
  } catch (error) {
    if (signal.aborted) fail(`no answer in ${timeoutMs} ms`);
    throw error;
  } finally {
    if (agent === undefined) sent.destroy();
  }
}

function bytesOf(body: unknown): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function authorization(token: string | undefined): Headers {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Request line and headers as bytes, for requests that a client library would not send. */
export function head({ url, token }: Endpoint, line: string, headers: Headers): string {
  const all = Object.entries({ host: url.host, ...authorization(token), ...headers });
  return `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/**
 * Sends bytes on a connection of their own, and resolves with what comes back: until it is `enough`, the server closes the
 * connection, or the time is up. `end`: the client closes its side after them.
 */
export function converse(
  { url, timeoutMs }: Endpoint,
  bytes: string | Buffer,
  enough: (text: string) => boolean,
  end = false,
): Promise<string> {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const at = { host, port: Number(url.port) || (secure ? 443 : 80), allowHalfOpen: true };
  return new Promise((resolve) => {
    const socket = secure ? connectTls({ ...at, servername: host }) : connectPlain(at);
    const chunks: Buffer[] = [];
    const text = () => Buffer.concat(chunks).toString('latin1');
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text());
    };
    const timer = setTimeout(done, timeoutMs);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (enough(text())) done();
    });
    socket.on('end', done).on('close', done).on('error', done);
    if (end) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Status of the first answer in bytes of a connection; null: it closed, or stayed silent. */
export function statusIn(text: string): number | null {
  const status = /^HTTP\/1\.[01] (\d{3})\b/.exec(text)?.[1];
  check(status !== undefined || text === '', `the answer begins with ${plain(text, 40)}`);
  return status === undefined ? null : Number(status);
}
