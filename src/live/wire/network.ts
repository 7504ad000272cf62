import type { Metadata, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { ClientTls, ServerTls } from './credentials.js';

/** A stream opened to a peer, as its caller sees it: the subset of grpc-js's ClientDuplexStream in use. */
interface DialedStream<Sent> {
  write(message: Sent): unknown;
  /** Sends a last message. */
  end(message: Sent): unknown;
  cancel(): void;
  on(event: 'data', heard: (bytes: Buffer) => void): unknown;
  on(
    event: 'error',
    heard: (error: Error & { readonly code: number; readonly details: string }) => void,
  ): unknown;
  on(event: 'status', heard: (status: { readonly code: number; readonly details: string }) => void): unknown;
  once(event: 'close', heard: () => void): unknown;
}

/** A stream opened by a peer: the subset of grpc-js's ServerDuplexStream in use. */
export interface AcceptedStream<Sent> {
  readonly metadata: Metadata;
  /** HOST:PORT of the other end. */
  getPeer(): string;
  write(message: Sent): unknown;
  end(): unknown;
  /** Ends it, with a status. */
  emit(event: 'error', status: { readonly code: number; readonly details: string }): unknown;
  on(event: 'data', heard: (bytes: Buffer) => void): unknown;
  on(event: 'error', heard: (error: Error) => void): unknown;
  on(event: 'cancelled' | 'end', heard: () => void): unknown;
}

export interface DialOptions<Sent> {
  /** HOST:PORT. */
  readonly address: string;
  /** Absent: no encryption. */
  readonly tls: ClientTls | undefined;
  /** Expected name in the certificate; absent: the host of the address. */
  readonly serverName?: string | undefined;
  /** Name of the callee for people. */
  readonly peer: 'worker' | 'controller';
  /** Both its directions are streams. */
  readonly method: { readonly path: string; readonly requestSerialize: (message: Sent) => Buffer };
  readonly headers: Metadata;
  readonly maxMessageBytes: number;
}

/** A connection of its own, with one stream on it. */
export interface Dialed<Sent> {
  readonly stream: DialedStream<Sent>;
  /** Cancels the stream and closes the connection. */
  hangUp(): void;
}

export interface StreamServerOptions {
  /** Absent: no encryption. */
  readonly tls?: ServerTls | undefined;
  /** Owner of the port, for people, e.g. "the worker". */
  readonly whose: string;
  readonly maxMessageBytes: number;
  readonly mostConnections: number;
}

/** A port for long-lived streams of peers: the real one is `GuardedServer`. */
export interface StreamServer {
  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void;
  /** Resolves with the port. Throws `E_LISTEN`. */
  listen(host: string, port: number): Promise<number>;
  /** Marks the connection from `peer` as authenticated. */
  prove(peer: string): void;
  /** Makes it authenticate again. */
  doubt(peer: string): void;
  /** Bytes received on the connection from `peer`. */
  bytesFrom(peer: string): number;
  /** Renews the certificate for later connections, if it encrypts at all. */
  renew(tls: ServerTls): void;
  /** Takes no more connections. */
  stopListening(): void;
  /** Waits briefly for streams to end, then cuts all connections. */
  close(): Promise<void>;
}

/** Connections between processes of a cluster: the real one is gRPC. */
export interface Network {
  dial<Sent>(options: DialOptions<Sent>): Dialed<Sent>;
  server(options: StreamServerOptions): StreamServer;
  /** Addresses of a host by its name: IPv4 if it has any. Rejects if there are none. */
  lookup(host: string): Promise<readonly string[]>;
}
