import { once } from 'node:events';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { repeat, type Tally } from './tally.js';
import type { Target } from './target.js';

/** Clients of node:net and node:http that attack, without a line of the package's own code. */

export const HOST = '127.0.0.1';
/** Where attackers come from. The victim comes from `HOST`: what counts by address keeps them apart. Only Linux has others. */
export const ATTACKER = process.platform === 'linux' ? '127.0.0.2' : HOST;

/** A connection whose errors count and never throw. Null: it was not accepted. */
export async function open(port: number, tally: Tally, tls = false): Promise<Socket | null> {
  const where = { port, host: HOST, localAddress: ATTACKER };
  const socket = tls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
  socket.on('error', (error: NodeJS.ErrnoException) => tally.add(error.code ?? error.message));
  const ended = once(socket, 'close').then(
    () => false,
    () => false,
  );
  const opened = once(socket, tls ? 'secureConnect' : 'connect').then(
    () => true,
    () => false,
  );
  return (await Promise.race([opened, ended])) ? socket : null;
}

/** Counts the status lines that a connection receives. */
export function countStatuses(socket: Socket, tally: Tally): void {
  socket.on('data', (bytes: Buffer) => {
    for (const [, status] of bytes.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) tally.add(status);
  });
}

/** Connections whose statuses count, one after the other in `lanes` at the same time; each is destroyed when `use` is done. */
export function repeatOpen(
  { http }: Target,
  tally: Tally,
  lanes: number,
  untilMs: number,
  use: (socket: Socket) => Promise<unknown>,
): Promise<void> {
  return repeat(lanes, untilMs, async () => {
    const socket = await open(http, tally);
    if (socket === null) return;
    countStatuses(socket, tally);
    await use(socket);
    socket.destroy();
  });
}

/** False: the connection is gone. Resolves when more can be written. */
export async function write(socket: Socket, bytes: Buffer | string): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return false;
  if (socket.write(bytes)) return true;
  return new Promise((resolve) => {
    const drained = () => {
      socket.off('close', closed);
      resolve(true);
    };
    const closed = () => {
      socket.off('drain', drained);
      resolve(false);
    };
    socket.once('drain', drained);
    socket.once('close', closed);
  });
}

export type Headers = Readonly<Record<string, string | number>>;

interface Post {
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Headers;
  readonly method?: string;
  readonly port?: number;
}

/** One request on a connection of its own. Counts its status, or how it failed. */
export function post(target: Target, tally: Tally, { path, body, ...how }: Post): Promise<void> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length, ...how.headers };
  const { method = 'POST', port = target.http } = how;
  const send = target.tls ? requestTls : request;
  return new Promise((resolve) => {
    const where = { host: HOST, port, localAddress: ATTACKER };
    const sent = send({ ...where, path, method, headers, agent: false, rejectUnauthorized: false });
    let status: number | undefined;
    sent.on('response', (response) => {
      status = response.statusCode;
      response.resume();
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // What is left of a body that was refused early may break; the answer is there.
      if (status === undefined) tally.add(error.code ?? error.message);
    });
    sent.on('close', () => {
      if (status !== undefined) tally.add(status);
      resolve();
    });
    sent.end(body);
  });
}

/** The head of a request for raw sockets. */
export function head(method: string, path: string, headers: Headers = {}): string {
  const lines = Object.entries({ host: HOST, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
