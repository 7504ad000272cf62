import type { Metadata, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { ClientTls, ServerTls } from './credentials.js';

/** A stream that was opened to a peer, as its caller sees it: grpc-js's ClientDuplexStream, as far as it is used. */
interface DialedStream<Sent> {
  write(message: Sent): unknown;
  /** Says a last word, and no more. */
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

/** A stream that a peer has opened: grpc-js's ServerDuplexStream, as far as it is used. */
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
  /** Whom the certificate is to be for; absent: the host of the address. */
  readonly serverName?: string | undefined;
  /** Of who is called, for people. */
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
  /** Whose port it is, for people, e.g. "the worker". */
  readonly whose: string;
  readonly maxMessageBytes: number;
  readonly mostConnections: number;
}

/** A port that takes streams of peers that stay: the real one is `GuardedServer`. */
export interface StreamServer {
  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void;
  /** The port. Throws `E_LISTEN`. */
  listen(host: string, port: number): Promise<number>;
  /** The connection from `peer` is of one who may use the port. */
  prove(peer: string): void;
  /** It does not use it any more. */
  doubt(peer: string): void;
  /** How much has come on the connection from `peer`. */
  bytesFrom(peer: string): number;
  /** Connections that come later get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void;
  /** Takes no more connections. */
  stopListening(): void;
  /** Waits a moment for streams to end, then cuts all connections. */
  close(): Promise<void>;
}

/** How processes of a cluster reach each other: the real one is gRPC. */
export interface Network {
  dial<Sent>(options: DialOptions<Sent>): Dialed<Sent>;
  server(options: StreamServerOptions): StreamServer;
  /** Addresses of a host by its name: IPv4 if it has such. Rejects where there are none. */
  lookup(host: string): Promise<readonly string[]>;
}
