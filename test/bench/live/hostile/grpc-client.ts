import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ATTACKER, HOST } from './sockets.js';
import type { Tally } from './tally.js';

/** A gRPC client on node:http2 that sends any bytes as a message. */

export const INFER = '/inference.GRPCInferenceService/ModelInfer';
const RESULT_TIMEOUT_MS = 60_000;

export interface Call {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Framed messages. */
  readonly body: Buffer;
  /** False: the request stays open. */
  readonly end?: boolean;
}

/** A connection whose errors count. Null: it was not accepted. */
export function openSession(port: number, tls: boolean, tally: Tally): Promise<ClientHttp2Session | null> {
  const where = { host: HOST, port, localAddress: ATTACKER };
  const session = connect(`${tls ? 'https' : 'http'}://${HOST}:${port}`, {
    createConnection: () =>
      tls ? connectTls({ ...where, ALPNProtocols: ['h2'], rejectUnauthorized: false }) : connectTcp(where),
  });
  return new Promise((resolve) => {
    session.on('error', (error: NodeJS.ErrnoException) => {
      tally.add(error.code ?? error.message);
      resolve(null);
    });
    session.on('close', () => resolve(null));
    session.on('connect', () => resolve(session));
  });
}

/** Makes a call and counts how it ended. */
export function call(session: ClientHttp2Session, tally: Tally, what: Call): Promise<void> {
  return new Promise((resolve) => {
    if (session.closed || session.destroyed) {
      resolve();
      return;
    }
    const stream = session.request({
      ':method': 'POST',
      ':path': what.path ?? INFER,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...what.headers,
    });
    let result: string | undefined;
    const take = (headers: Record<string, unknown>) => {
      const status = headers['grpc-status'];
      if (status !== undefined) result = `grpc ${status}`;
      else if (result === undefined && headers[':status'] !== 200) result = String(headers[':status']);
    };
    stream.on('response', take);
    stream.on('trailers', take);
    stream.on('error', (error: NodeJS.ErrnoException) => {
      result ??= error.code ?? error.message;
    });
    stream.on('close', () => {
      tally.add(result ?? `closed ${stream.rstCode}`);
      resolve();
    });
    stream.setTimeout(RESULT_TIMEOUT_MS, () => stream.close());
    stream.resume();
    if (what.end === false) stream.write(what.body);
    else stream.end(what.body);
  });
}

/** One call on a connection of its own. */
export async function callOnce(port: number, tls: boolean, tally: Tally, what: Call): Promise<void> {
  const session = await openSession(port, tls, tally);
  if (session === null) return;
  await call(session, tally, what);
  session.destroy();
}
