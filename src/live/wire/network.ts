import type { Metadata } from '@grpc/grpc-js';
import type { ClientTls } from './credentials.js';
import type { GuardedServer, StreamServerOptions } from './guarded-server.js';

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

/** A port for long-lived streams of peers. */
export type StreamServer = Pick<
  GuardedServer,
  'addService' | 'listen' | 'prove' | 'doubt' | 'bytesFrom' | 'renew' | 'stopListening' | 'close'
>;

/** Connections between processes of a cluster: the real one is gRPC. */
export interface Network {
  dial<Sent>(options: DialOptions<Sent>): Dialed<Sent>;
  server(options: StreamServerOptions): StreamServer;
  /** Addresses of a host by its name: IPv4 if it has any. Rejects if there are none. */
  lookup(host: string): Promise<readonly string[]>;
}
