import { createServer, type Server, type Socket } from 'node:net';
import { EscapementError } from '../../base/errors.js';
import { formatAddress } from './address.js';

/** So long a connection may stay that has not proved itself. */
const PROBATION_MS = 5000;

/**
 * A port on which strangers cannot pile up: a connection that does not prove itself is closed after a few seconds,
 * and when there are many, the oldest of those gives way to the next.
 */
export class GuardedPort {
  private readonly server: Server;
  private readonly sockets = new Map<string, Socket>();
  /** Those on probation, oldest first. */
  private readonly probation = new Map<string, NodeJS.Timeout>();

  /** `mostConnections`: at a time. */
  constructor(
    private readonly mostConnections: number,
    connected: (socket: Socket) => void,
  ) {
    this.server = createServer((socket) => {
      if (this.admit(socket)) connected(socket);
      else socket.destroy();
    });
  }

  /** The port. Throws `E_LISTEN`. */
  listen(host: string, port: number): Promise<number> {
    const { server } = this;
    return new Promise((resolve, reject) => {
      server.once('error', ({ message }) =>
        reject(new EscapementError('E_LISTEN', `cannot listen on ${formatAddress(host, port)}: ${message}`)),
      );
      server.listen(port, host, () => {
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** The connection from `peer` is of one who may use the port. */
  prove(peer: string): void {
    clearTimeout(this.probation.get(peer));
    this.probation.delete(peer);
  }

  /** It does not any more. */
  doubt(peer: string): void {
    const socket = this.sockets.get(peer);
    if (socket !== undefined) this.watch(peer, socket);
  }

  /** How much has come on the connection from `peer`. */
  bytesFrom(peer: string): number {
    return this.sockets.get(peer)?.bytesRead ?? 0;
  }

  /** Takes no more connections. */
  stopListening(): void {
    this.server.close();
  }

  /** Cuts all connections, also of a peer that neither reads nor hangs up. */
  cut(): void {
    for (const socket of this.sockets.values()) socket.destroy();
  }

  /** False: there are too many that have proved themselves. */
  private admit(socket: Socket): boolean {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    if (this.sockets.size >= this.mostConnections && !this.dropOldest()) return false;
    this.sockets.set(peer, socket);
    this.watch(peer, socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.prove(peer);
      this.sockets.delete(peer);
    });
    return true;
  }

  private watch(peer: string, socket: Socket): void {
    this.prove(peer);
    this.probation.set(
      peer,
      setTimeout(() => socket.destroy(), PROBATION_MS),
    );
  }

  private dropOldest(): boolean {
    const [oldest] = this.probation.keys();
    if (oldest === undefined) return false;
    this.sockets.get(oldest)?.destroy();
    this.prove(oldest);
    this.sockets.delete(oldest);
    return true;
  }
}
