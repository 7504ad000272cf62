import { fail } from '../finding.js';
import { bodyText } from '../plain.js';
import type { Endpoint } from './endpoint.js';
import type { HttpAnswer } from './http-answer.js';
import { HttpConnection } from './http-connection.js';
import type { Transcript } from './transcript.js';

export type Headers = Readonly<Record<string, string>>;

/** A request before it is bytes. */
interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array;
}

/** Asks a server over HTTP, each time on a connection of its own unless a case opens one. */
export class HttpClient {
  constructor(
    readonly endpoint: Endpoint,
    readonly transcript: Transcript,
  ) {}

  get(path: string, headers?: Headers): Promise<HttpAnswer> {
    return this.ask({ method: 'GET', path, ...(headers && { headers }) });
  }

  /** `body`: text, bytes, or a value to be sent as JSON. */
  post(path: string, body: unknown, headers: Headers = {}): Promise<HttpAnswer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const bytes = raw ? body : JSON.stringify(body);
    return this.ask({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body: bytes,
    });
  }

  /** Fails where no answer comes. */
  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.tryToAsk(request);
    return answer ?? fail('the server closed the connection without an answer');
  }

  /** Null: the server closed the connection instead of an answer. */
  async tryToAsk(request: HttpRequest): Promise<HttpAnswer | null> {
    const connection = await this.open();
    try {
      connection.write(this.bytesOf(request, { connection: 'close' }));
      return await this.read(connection, request.method, describe(request));
    } finally {
      connection.close();
    }
  }

  open(): Promise<HttpConnection> {
    return HttpConnection.open(this.endpoint);
  }

  /** The next answer of a connection that a case has written to, for the transcript as well. */
  async read(connection: HttpConnection, method: string, sent: string): Promise<HttpAnswer | null> {
    try {
      const answer = await connection.read(method);
      this.transcript.add(sent, answer === null ? 'closed without an answer' : answer.summary());
      return answer;
    } catch (error) {
      this.transcript.add(sent, (error as Error).message);
      throw error;
    }
  }

  /** A request as it goes over the wire. */
  bytesOf({ method, path, headers = {}, body }: HttpRequest, more: Headers = {}): Buffer {
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(body as string);
    const length = body === undefined ? {} : { 'content-length': String(bytes.length) };
    return Buffer.concat([
      Buffer.from(this.head(method, path, { ...length, ...more, ...headers }), 'latin1'),
      bytes,
    ]);
  }

  /** Request line and headers, with the host and the token. */
  head(method: string, path: string, headers: Headers): string {
    const { url, token } = this.endpoint;
    const all = {
      host: url.host,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${this.base}${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  }

  /** What comes before the protocol's paths. */
  get base(): string {
    return this.endpoint.url.pathname.replace(/\/+$/, '');
  }
}

function describe({ method, path, headers = {}, body = '' }: HttpRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = typeof body === 'string' ? body.slice(0, 400) : bodyText(body);
  return `${method} ${path} ${shown.length > 0 ? `[${shown.join(', ')}] ` : ''}${text}`;
}
