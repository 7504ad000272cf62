import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { KIB } from '../../../base/units.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { ApiError } from '../api-error.js';
import type { Account, Budget } from '../budget.js';

/** Interval at which the memory of incomplete messages is counted. */
const LOOK_MS = 100;

/** Upper bound on what HTTP/2 adds to a message: frames, headers and window updates, in bytes. */
function overheadOf(bytes: number): number {
  return KIB + bytes / 128;
}

/** A client's connection, and the memory that messages still coming take. */
export class Connection {
  /** Calls whose message is not complete. */
  private receiving = 0;
  /** Bytes of the socket that belong to complete messages. */
  private settledBytes = 0;
  private heldBytes = 0;

  constructor(
    private readonly socket: Socket,
    readonly account: Account,
  ) {}

  get isReceiving(): boolean {
    return this.receiving > 0;
  }

  /** A call begins to send. */
  begin(): void {
    if (this.receiving === 0) this.settledBytes = this.socket.bytesRead;
    this.receiving++;
  }

  /** A call has sent all. */
  end(): void {
    this.receiving--;
    if (this.heldBytes > 0) this.hold();
  }

  /** A message of so many bytes is complete. */
  settle(bytes: number): void {
    const settled = this.settledBytes + bytes + overheadOf(bytes);
    this.settledBytes = Math.min(settled, this.socket.bytesRead);
    if (this.heldBytes > 0) this.hold();
  }

  /** Takes memory for what has come of incomplete messages, at most all that was sent since they began. */
  hold(): ApiError | null {
    const bytes = this.isReceiving ? this.socket.bytesRead - this.settledBytes : 0;
    const apiError = this.account.change(this.heldBytes, bytes);
    if (apiError === null) this.heldBytes = bytes;
    return apiError;
  }

  close(): void {
    this.account.cancel();
    this.account.giveBack(this.heldBytes);
    this.heldBytes = 0;
    this.socket.destroy();
  }
}

interface ConnectionsOptions {
  readonly budget: Budget;
  readonly tls: ServerTls | null;
  readonly handshakeTimeoutMs: number;
  /** Takes a connection that may come in. */
  readonly accepted: (socket: Socket) => void;
  /** A connection was refused, or closed because what it sends takes too much memory. */
  readonly refused: (apiError: ApiError, client: string) => void;
}

/** The connections of a gRPC port, within the limits of their number and memory. */
export class Connections {
  readonly listener: Server;
  /** By address and port of the client. */
  private readonly open = new Map<string, Connection>();
  private readonly renewTls: (tls: ServerTls) => void;

  constructor(private readonly options: ConnectionsOptions) {
    const { tls, handshakeTimeoutMs: handshakeTimeout, accepted } = options;
    let welcome = accepted;
    this.renewTls = () => {};
    if (tls !== null) {
      const encrypting = createTlsServer({ ...tls, handshakeTimeout, ALPNProtocols: ['h2'] });
      encrypting.on('secureConnection', (socket) => {
        socket.on('error', () => {});
        accepted(socket);
      });
      encrypting.on('tlsClientError', (_, socket) => socket.destroy());
      this.renewTls = (renewed) => encrypting.setSecureContext(renewed);
      welcome = (socket) => encrypting.emit('connection', socket);
    }
    this.listener = createServer({ noDelay: true }, (socket) => {
      if (this.admit(socket)) welcome(socket);
    });
    const timer = setInterval(() => this.look(), LOOK_MS);
    timer.unref();
    this.listener.on('close', () => clearInterval(timer));
  }

  /** The connection of a client; undefined: it has gone. */
  at(address: string | undefined, port: number | undefined): Connection | undefined {
    return this.open.get(`${address}:${port}`);
  }

  renew(tls: ServerTls): void {
    this.renewTls(tls);
  }

  closeAll(): void {
    for (const connection of this.open.values()) connection.close();
  }

  private admit(socket: Socket): boolean {
    const { budget, refused } = this.options;
    const { remoteAddress, remotePort } = socket;
    const account = budget.open(remoteAddress);
    socket.on('error', () => {});
    const apiError = account.enter();
    if (apiError !== null) {
      refused(apiError, account.clientKey);
      socket.destroy();
      return false;
    }
    const connection = new Connection(socket, account);
    const key = `${remoteAddress}:${remotePort}`;
    this.open.set(key, connection);
    socket.once('close', () => {
      this.open.delete(key);
      connection.close();
      account.leave();
    });
    return true;
  }

  private look(): void {
    for (const connection of this.open.values()) {
      if (!connection.isReceiving) continue;
      const apiError = connection.hold();
      if (apiError === null) continue;
      this.options.refused(apiError, connection.account.clientKey);
      connection.close();
    }
  }
}
