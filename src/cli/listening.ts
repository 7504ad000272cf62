import { connect, isIPv6 } from 'node:net';
import type { Logger } from 'pino';
import { EscapementError } from '../base/errors.js';
import { formatAddress } from '../live/wire/address.js';
import { isContainer, thisHost } from '../tools/doctor/host.js';
import { usageError } from './options.js';

/** A listener on this machine accepts a connection at once. */
const CONNECT_MS = 1000;

/**
 * Throws `E_LISTEN`, before long work begins, if something listens on one of the ports given by flags. Null: not used.
 * It opens none of them, because a client that waits for the server to come back would connect and be cut off. Other
 * problems surface when the port is opened.
 */
export async function checkPorts(
  host: string,
  ports: Readonly<Record<string, number | null>>,
): Promise<void> {
  const wanted = Object.entries(ports).filter(([, port]) => port !== null && port !== 0) as [
    string,
    number,
  ][];
  for (const [flag, port] of wanted) {
    const [other] = wanted.find((each) => each[1] === port)!;
    if (other !== flag)
      throw new EscapementError('E_LISTEN', `--${flag} ${port}: --${other} has the same port`);
    if (!(await takesConnections(host, port))) continue;
    const what = `cannot listen on ${formatAddress(host, port)}: address already in use; end what listens there, or choose another port`;
    throw new EscapementError('E_LISTEN', what, { flag: `--${flag} ${port}` });
  }
}

/** True if something listens there. */
function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: CONNECT_MS });
    const end = (isTaken: boolean) => {
      socket.destroy();
      resolve(isTaken);
    };
    // A socket whose local port is this one is connected to itself.
    socket.on('connect', () => end(socket.localPort !== port));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}

/** Address to connect to for a wildcard address of this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host;
}

/** Parses `[HOST:]PORT` of `--listen`; `byDefault` is the host if none is named. Throws `E_USAGE`. */
export function listenAddress(text: string, byDefault: string): { host: string; port: number } {
  const parts = /^(?:(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):)?(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || port > 65535) throw usageError(`--listen ${text}: write PORT or HOST:PORT`);
  return { host: parts[1]?.replace(/^\[|\]$/g, '') ?? byDefault, port };
}

/** Logs who can reach a process that listens at `host`, if that may surprise. */
export function hintAtHost(host: string, token: string | null, log: Logger): void {
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (!isLocal && token === null) {
    log.warn(
      `anyone who can reach ${host} can use this process and change what it serves: add --token-file FILE and TLS, or let only trusted machines reach its ports`,
    );
  } else if (isLocal && isContainer(thisHost())) {
    log.info(`only clients in this container can reach ${host}: add --host 0.0.0.0 to serve others`);
  }
}
