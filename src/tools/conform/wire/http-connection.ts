import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { fail } from '../finding.js';
import type { Endpoint } from './endpoint.js';
import type { HttpAnswer } from './http-answer.js';
import { ResponseReader } from './response-reader.js';

const MOST_AHEAD_BYTES = 1024 * 1024;

/** One connection, written to byte by byte: a client library would repair what the cases send. */
export class HttpConnection {
  private readonly reader: ResponseReader;
  private ended = false;
  private problem = '';
  private wake: () => void = () => {};

  private constructor(
    private readonly socket: Socket,
    private readonly endpoint: Endpoint,
  ) {
    this.reader = new ResponseReader(endpoint.maxAnswerBytes);
    socket.on('data', (chunk) => {
      this.reader.push(chunk);
      // More than an answer and the beginning of the next: the case has to read first.
      if (this.reader.bytesKept > endpoint.maxAnswerBytes + MOST_AHEAD_BYTES) socket.pause();
      this.wake();
    });
    const end = () => {
      this.ended = true;
      this.wake();
    };
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', (error) => {
      this.problem = error.message;
      end();
    });
  }

  /** Fails where the server does not accept it in time. */
  static open(endpoint: Endpoint): Promise<HttpConnection> {
    const { url, ca, insecure, timeoutMs } = endpoint;
    const secure = url.protocol === 'https:';
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
    const at = { host, port, allowHalfOpen: true };
    const tls = {
      ...at,
      // Server names of TLS must not be addresses.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: !insecure,
      ...(ca === undefined ? {} : { ca }),
    };
    return new Promise((resolve, reject) => {
      const opened = () => {
        clearTimeout(timer);
        socket.off('error', refused);
        resolve(new HttpConnection(socket, endpoint));
      };
      const refused = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(new ConnectError(error.message));
      };
      const socket: Socket = secure ? connectTls(tls, opened) : connectPlain(at, opened);
      const timer = setTimeout(() => refused(new Error(`not accepted in ${timeoutMs} ms`)), timeoutMs);
      socket.on('error', refused);
    });
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Says that nothing more will be sent, and still listens. */
  endWriting(): void {
    this.socket.end();
  }

  /** The next answer; null: the server closed the connection instead. Fails if neither comes in time. */
  async read(method = 'GET'): Promise<HttpAnswer | null> {
    const deadline = performance.now() + this.endpoint.timeoutMs;
    for (;;) {
      const answer = this.reader.next(method, this.ended);
      this.socket.resume();
      if (answer !== null) return answer;
      if (this.ended) {
        if (this.reader.isEmpty) return null;
        fail(`the connection ended in the middle of an answer${this.problem && ` (${this.problem})`}`);
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new NoAnswer(`no answer in ${this.endpoint.timeoutMs} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  close(): void {
    this.socket.destroy();
  }
}

/** The server cannot be connected to. */
export class ConnectError extends Error {}

/** The server keeps a connection open and says nothing. */
export class NoAnswer extends Error {}
