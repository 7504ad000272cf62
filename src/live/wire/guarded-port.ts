import type { Server, Socket } from 'node:net';
import { clientOf } from './address.js';
import { listen } from './listener.js';

/** Time for a connection to authenticate. */
const PROBATION_MS = 5000;

interface Connection {
  readonly socket: Socket;
  /** Client of the connection. */
  readonly client: string;
}

/**
 * Keeps strangers from filling the port of a server: an unauthenticated connection is closed after a few seconds, and when there are
 * many, a new one replaces the oldest of those, of the address that has most of them.
 */
export class GuardedPort {
  /** By peer. */
  private readonly connections = new Map<string, Connection>();
  /** By client: unauthenticated connections, oldest first. */
  private readonly probation = new Map<string, Map<string, NodeJS.Timeout>>();

  /** `mostConnections`: limit on concurrent ones. `overfilled`: called with the client of one closed for that. */
  constructor(
    protected readonly server: Server,
    private readonly mostConnections: number,
    private readonly overfilled: (client: string) => void = () => {},
  ) {
    server.on('connection', (socket: Socket) => {
      if (!this.admit(socket)) socket.destroy();
    });
  }

  /** Resolves with the port. Throws `E_LISTEN`. */
  listen(host: string, port: number): Promise<number> {
    return listen(this.server, { host, port });
  }

  /** Marks the connection from `peer` as authenticated. */
  prove(peer: string): void {
    const connection = this.connections.get(peer);
    if (connection === undefined) return;
    const waiting = this.probation.get(connection.client);
    clearTimeout(waiting?.get(peer));
    waiting?.delete(peer);
    if (waiting?.size === 0) this.probation.delete(connection.client);
  }

  /** Makes it authenticate again. */
  doubt(peer: string): void {
    const connection = this.connections.get(peer);
    if (connection === undefined) return;
    const { socket, client } = connection;
    this.prove(peer);
    const waiting = this.probation.get(client) ?? new Map<string, NodeJS.Timeout>();
    this.probation.set(client, waiting);
    waiting.set(
      peer,
      setTimeout(() => socket.destroy(), PROBATION_MS),
    );
  }

  /** Bytes received on the connection from `peer`. */
  bytesFrom(peer: string): number {
    return this.connections.get(peer)?.socket.bytesRead ?? 0;
  }

  /** Takes no more connections. */
  stopListening(): void {
    this.server.close();
  }

  /** Cuts all connections, including that of a peer that neither reads nor hangs up. */
  cut(): void {
    for (const { socket } of this.connections.values()) socket.destroy();
  }

  /** False if too many are authenticated. */
  private admit(socket: Socket): boolean {
    const client = clientOf(socket.remoteAddress);
    if (this.connections.size >= this.mostConnections && !this.dropOldest()) {
      this.overfilled(client);
      return false;
    }
    const peer = peerOf(socket);
    this.connections.set(peer, { socket, client });
    this.doubt(peer);
    socket.on('error', () => {});
    socket.once('close', () => this.forget(peer));
    return true;
  }

  private dropOldest(): boolean {
    let most: ReadonlyMap<string, unknown> | undefined;
    for (const waiting of this.probation.values())
      if (most === undefined || waiting.size > most.size) most = waiting;
    const [oldest] = most?.keys() ?? [];
    const connection = this.connections.get(oldest);
    if (connection === undefined) return false;
    connection.socket.destroy();
    this.forget(oldest);
    this.overfilled(connection.client);
    return true;
  }

  private forget(peer: string): void {
    this.prove(peer);
    this.connections.delete(peer);
  }
}

type Peer = Partial<Pick<Socket, 'remoteAddress' | 'remotePort'>>;

/** Remote end of a connection, in gRPC's notation. */
export function peerOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress}:${remotePort}`;
}
