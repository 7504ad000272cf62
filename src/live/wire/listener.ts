import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, Server as TlsServer } from 'node:tls';
import { EscapementError } from '../../base/errors.js';
import { formatAddress } from './address.js';
import type { ServerTls } from './credentials.js';

/** A port that is served. */
export interface ServedPort {
  readonly port: number;
  close(): Promise<void>;
  /** Connections that come later get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void;
}

/** A server for connections of gRPC; `tls` null: without encryption. */
export function grpcListener(tls: ServerTls | null, options: TlsOptions = {}): Server {
  const server =
    tls === null
      ? createServer({ noDelay: true })
      : createTlsServer({ ...options, ...tls, noDelay: true, ALPNProtocols: ['h2'] });
  server.on('tlsClientError', (_, socket: Socket) => socket.destroy());
  return server;
}

/** Calls `accept` with each connection once it is encrypted, if at all, unless it was refused before. */
export function onAccepted(server: Server, accept: (socket: Socket) => void): void {
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (socket.destroyed) return;
    socket.on('error', () => {});
    accept(socket);
  });
}

/** Gives connections that come later another certificate, if the server encrypts at all. */
export function renewTls(server: Server, tls: ServerTls): void {
  if (server instanceof TlsServer) server.setSecureContext(tls);
}

/** Where a server listens. */
interface Place {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True if others listen on the same port. */
  readonly reusePort?: boolean;
}

/** Begins to listen; resolves to the port. `why`: the end of the sentence, for the error. Throws `E_LISTEN`. */
export function listen(server: Server, { host, port, reusePort = false }: Place, why = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    // Later errors are connections that could not be accepted, for lack of file descriptors: only those clients lose.
    server.on('error', ({ message }) =>
      reject(
        new EscapementError('E_LISTEN', `cannot listen on ${formatAddress(host, port)}${why}: ${message}`),
      ),
    );
    // Node's types leave `reusePort` out, which came later than the oldest Node that this supports.
    const place: ListenOptions & { reusePort: boolean } = { port, host, reusePort };
    server.listen(place, () => resolve((server.address() as AddressInfo).port));
  });
}
