import { createServer, type Server } from 'node:net';
import { EscapementError } from '../base/errors.js';
import { formatAddress } from '../live/wire/address.js';

/**
 * Throws `E_LISTEN` where one of the ports, given by flag, cannot be listened on: before work begins that takes long.
 * Null: none is wanted.
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
  for (const { flag, port } of wanted) await close(await listen(host, flag, port));
}

function listen(host: string, flag: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', ({ message, code }: NodeJS.ErrnoException) => {
      const hint = code === 'EADDRINUSE' ? '; end what listens there, or choose another port' : '';
      const what = `cannot listen on ${formatAddress(host, port)}: ${message}${hint}`;
      reject(new EscapementError('E_LISTEN', what, { flag: `--${flag} ${port}` }));
    });
    server.listen(port, host, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
