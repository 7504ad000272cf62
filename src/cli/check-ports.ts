import { connect, createServer, isIPv6, type Server } from 'node:net';
import { EscapementError } from '../base/errors.js';
import { formatAddress } from '../live/wire/address.js';

/** Below this, systems may reserve ports for their administrator. */
const FIRST_FREE_PORT = 1024;
/** What listens on this machine takes a connection at once. */
const CONNECT_MS = 1000;

/**
 * Throws `E_LISTEN` where one of the ports, given by flag, cannot be listened on: before work begins that takes long.
 * Null: none is wanted. Opens none of them if it can be avoided: a client that waits for the server to come back would
 * connect, and be cut off. What this does not find out shows when the port is opened.
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
    if (port >= FIRST_FREE_PORT && (await takesConnections(host, port)))
      throw cannotListen(host, flag, port, {
        name: '',
        message: 'address already in use',
        code: 'EADDRINUSE',
      });
    // The address itself may be wrong, whichever the port.
    await close(await listen(host, flag, port, port < FIRST_FREE_PORT ? port : 0));
  }
}

/** Something listens there. */
function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: CONNECT_MS });
    const end = (isTaken: boolean) => {
      socket.destroy();
      resolve(isTaken);
    };
    // A socket that got this very port is connected with itself.
    socket.on('connect', () => end(socket.localPort !== port));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}

/** All addresses of a machine are reached by one of them. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host;
}

/** `actual`: which port to open in fact. */
function listen(host: string, flag: string, port: number, actual: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => reject(cannotListen(host, flag, port, error)));
    server.listen(actual, host, () => resolve(server));
  });
}

function cannotListen(
  host: string,
  flag: string,
  port: number,
  { message, code }: NodeJS.ErrnoException,
): EscapementError {
  const hint = code === 'EADDRINUSE' ? '; end what listens there, or choose another port' : '';
  const what = `cannot listen on ${formatAddress(host, port)}: ${message}${hint}`;
  return new EscapementError('E_LISTEN', what, { flag: `--${flag} ${port}` });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
