import { connect } from 'node:net';
import { afterEach } from 'vitest';
import type { Frontend, FrontendOptions, TurnedAway } from '../../../src/live/frontend/frontend.js';
import { openGrpcFrontend } from '../../../src/live/frontend/grpc-frontend.js';
import { openHttpFrontend } from '../../../src/live/frontend/http-frontend.js';
import type { InferenceService } from '../../../src/live/service.js';

const opened: Frontend[] = [];
afterEach(async () => {
  for (const frontend of opened.splice(0)) await frontend.close(false);
});

/** With time to begin a codec thread on a busy machine. */
const DEFAULTS = { port: 0, defaultSloNs: 60e9, serverVersion: '1.2.3' };

/** Opens frontends that are closed after the test. */
export async function openHttp(
  service: InferenceService,
  options: Partial<FrontendOptions> = {},
  turnedAway?: TurnedAway,
) {
  const frontend = await openHttpFrontend(service, { ...DEFAULTS, ...options }, turnedAway);
  opened.push(frontend);
  return { frontend, port: frontend.port, http: new HttpClient(frontend.port) };
}

export async function openGrpc(
  service: InferenceService,
  options: Partial<FrontendOptions> = {},
  turnedAway?: TurnedAway,
) {
  const frontend = await openGrpcFrontend(service, { ...DEFAULTS, ...options }, turnedAway);
  opened.push(frontend);
  return frontend;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  /** What the text says, where it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export class HttpClient {
  constructor(readonly port: number) {}

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }

  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    return this.send('POST', path, raw ? body : JSON.stringify(body), headers);
  }

  async send(
    method: string,
    path: string,
    body: string | Uint8Array | undefined,
    headers: Record<string, string>,
  ): Promise<Answer> {
    const request = {
      method,
      headers,
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
    };
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, request);
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString();
    const isJson = response.headers.get('content-type') === 'application/json';
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text,
      json: isJson ? JSON.parse(text) : null,
    };
  }
}

/** Sends bytes as they are and resolves with all that comes back until the server hangs up. */
export function exchangeRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    // A server may reset the connection of a client that it does not want to hear out.
    socket.on('error', () => {});
    socket.on('close', () => resolve(got));
  });
}

/** A JSON tensor. */
export function tensor(name: string, datatype: string, shape: readonly number[], data: unknown) {
  return { name, datatype, shape, data };
}
