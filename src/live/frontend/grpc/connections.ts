import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { KIB } from '../../../base/units.js';
import type { ServerTls } from '../../wire/credentials.js';
import { ApiError, asApiError } from '../api-error.js';
import { type Account, type Held, MOST_HEADER_BYTES } from '../limits.js';
import type { Site } from '../site.js';

/** Interval at which the memory of incomplete messages is counted. */
const LOOK_MS = 100;

/** Upper bound on what HTTP/2 adds to a message: frames, headers and window updates, in bytes. */
function overheadOf(bytes: number): number {
  return KIB + bytes / 128;
}

/** A client's connection, and the memory that messages still coming take. */
export class Connection {
  /** Calls whose client has not sent all, and those of them that showed the token. */
  private receiving = 0;
  private trusted = 0;
  /** Bytes of the socket that belong to complete messages. */
  private settledBytes = 0;
  private readonly held: Held;

  constructor(
    private readonly socket: Socket,
    readonly account: Account,
  ) {
    this.held = account.hold();
  }

  /** A call begins to send. */
  begin(isPublic: boolean): void {
    if (this.receiving === 0) this.settledBytes = this.socket.bytesRead;
    this.receiving++;
    if (!isPublic) this.trusted++;
  }

  /** A call has sent all. */
  end(isPublic: boolean): void {
    this.receiving--;
    if (!isPublic) this.trusted--;
    if (this.trusted === 0) this.held.set(0);
  }

  /** A message of so many bytes is complete. */
  settle(bytes: number): void {
    const settled = this.settledBytes + bytes + overheadOf(bytes);
    this.settledBytes = Math.min(settled, this.socket.bytesRead);
  }

  /**
   * Takes memory for what has come of incomplete messages, at most all that was sent since they began. Calls without a
   * token reserve none, and may send at most `MOST_HEADER_BYTES`. Throws an `ApiError`.
   */
  hold(): void {
    if (this.receiving === 0) return;
    const bytes = this.socket.bytesRead - this.settledBytes;
    if (this.trusted > 0) this.held.set(bytes);
    else if (bytes > MOST_HEADER_BYTES) throw new ApiError('tooLarge', 'the message is too large');
  }

  close(): void {
    this.held.set(0);
    this.socket.destroy();
  }
}

/** The connections of a gRPC port, within the limits of their number and memory. */
export class Connections {
  readonly listener: Server;
  /** By address and port of the client. */
  private readonly open = new Map<string, Connection>();

  /** `accepted`: takes a connection that may come in. */
  constructor(
    private readonly site: Site,
    accepted: (socket: Socket) => void,
  ) {
    const { tls, handshakeTimeoutMs: handshakeTimeout } = site.settings;
    this.listener =
      tls === null
        ? createServer({ noDelay: true })
        : createTlsServer({ ...tls, handshakeTimeout, noDelay: true, ALPNProtocols: ['h2'] });
    this.listener.on('connection', (socket: Socket) => this.admit(socket));
    this.listener.on(tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
      if (socket.destroyed) return;
      socket.on('error', () => {});
      accepted(socket);
    });
    this.listener.on('tlsClientError', (_, socket: Socket) => socket.destroy());
    const timer = setInterval(() => this.look(), LOOK_MS).unref();
    this.listener.on('close', () => clearInterval(timer));
  }

  /** The connection of a client; undefined: it has gone. */
  at(address: string | undefined, port: number | undefined): Connection | undefined {
    return this.open.get(`${address}:${port}`);
  }

  renew(tls: ServerTls): void {
    if (this.listener instanceof TlsServer) this.listener.setSecureContext(tls);
  }

  closeAll(): void {
    for (const connection of this.open.values()) connection.close();
  }

  /** Closes a connection beyond a limit. */
  private admit(socket: Socket): void {
    socket.on('error', () => {});
    const key = `${socket.remoteAddress}:${socket.remotePort}`;
    try {
      const connection = new Connection(socket, this.site.admit(socket));
      this.open.set(key, connection);
      socket.once('close', () => {
        this.open.delete(key);
        connection.close();
      });
    } catch {
      socket.destroy();
    }
  }

  /** Closes connections whose incomplete messages take too much memory. */
  private look(): void {
    for (const connection of this.open.values()) {
      try {
        connection.hold();
      } catch (error) {
        this.site.apiErrors.add(asApiError(error).kind);
        connection.close();
      }
    }
  }
}
