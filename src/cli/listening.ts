import { existsSync } from 'node:fs';
import { connect, createServer, isIPv6 } from 'node:net';
import type { Logger } from 'pino';
import { EscapementError } from '../base/errors.js';
import { formatAddress } from '../live/wire/address.js';
import { usageError } from './options.js';

/** Systems may reserve ports below this for administrators. */
const FIRST_FREE_PORT = 1024;
/** A listener on this machine accepts a connection at once. */
const CONNECT_MS = 1000;
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv'];

/**
 * Throws `E_LISTEN` if one of the ports given by flags is unavailable, before long work begins. Null: not wanted. Opens
 * none of them if possible: a client that waits for the server to come back would connect, and be cut off. Remaining
 * problems show when the port is opened.
 */
export async function checkPorts(
  host: string,
  ports: Readonly<Record<string, number | null>>,
): Promise<void> {
  const wanted = Object.entries(ports).flatMap(([flag, port]) => (port === null ? [] : [{ flag, port }]));
  for (const [i, { flag, port }] of wanted.entries()) {
    const other = wanted.slice(0, i).find((each) => port !== 0 && each.port === port);
    if (other !== undefined)
      throw new EscapementError('E_LISTEN', `--${flag} ${port}: --${other.flag} has the same port`);
  }
  for (const { flag, port } of wanted) {
    const isFree = port < FIRST_FREE_PORT || !(await takesConnections(host, port));
    // The address itself may be wrong, regardless of the port.
    const problem = isFree ? await listenProblem(host, port < FIRST_FREE_PORT ? port : 0) : IN_USE;
    if (problem === null) continue;
    const hint = problem.code === IN_USE.code ? '; end what listens there, or choose another port' : '';
    const what = `cannot listen on ${formatAddress(host, port)}: ${problem.message}${hint}`;
    throw new EscapementError('E_LISTEN', what, { flag: `--${flag} ${port}` });
  }
}

const IN_USE = { code: 'EADDRINUSE', message: 'address already in use' };

/** True if something listens there. */
function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: CONNECT_MS });
    const end = (isTaken: boolean) => {
      socket.destroy();
      resolve(isTaken);
    };
    // A socket that got this very port is connected to itself.
    socket.on('connect', () => end(socket.localPort !== port));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}

/** An address at which a wildcard address of this machine is reached. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host;
}

/** Error of briefly listening there; null on success. */
function listenProblem(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = createServer().once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

/** Parses `[HOST:]PORT` of `--listen`; `byDefault` is the host if none is named. Throws `E_USAGE`. */
export function listenAddress(text: string, byDefault: string): { host: string; port: number } {
  const parts = /^(?:(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):)?(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || port > 65535) throw usageError(`--listen ${text}: write PORT or HOST:PORT`);
  return { host: parts[1]?.replace(/^\[|\]$/g, '') ?? byDefault, port };
}

/** Logs who can reach a process that listens at `host`, where that may be a surprise. */
export function hintAtHost(host: string, token: string | null, log: Logger): void {
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (!isLocal && token === null) {
    log.warn(
      `everybody who reaches ${host} may use this process and change what it serves: add --token-file FILE and TLS, or let only trusted machines reach its ports`,
    );
  } else if (isLocal && isInContainer()) {
    log.info(`only clients in this container reach ${host}: add --host 0.0.0.0 to serve others`);
  }
}

function isInContainer(): boolean {
  const { KUBERNETES_SERVICE_HOST, container } = process.env;
  return (KUBERNETES_SERVICE_HOST ?? container) !== undefined || CONTAINER_FILES.some((f) => existsSync(f));
}
