import { createServer } from 'node:net';
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { checkIdentity, type ServerTls } from './credentials.js';
import { GuardedPort } from './guarded-port.js';
import type { StreamServer, StreamServerOptions } from './network.js';

/**
 * A gRPC server for long-lived peers, on a port that strangers cannot fill. The constructor throws `E_TLS` for an
 * unusable certificate.
 */
export class GuardedServer implements StreamServer {
  private readonly server: Server;
  private readonly guarded: GuardedPort;
  private readonly credentials: RenewableCredentials | null;

  constructor({ tls, whose, maxMessageBytes, mostConnections }: StreamServerOptions) {
    if (tls !== undefined) checkIdentity(tls, `the certificate and key of ${whose}`);
    this.credentials = tls === undefined ? null : new RenewableCredentials(tls);
    this.server = new Server({
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': MOST_STREAMS,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    });
    const connections = this.server.createConnectionInjector(
      this.credentials ?? ServerCredentials.createInsecure(),
    );
    const listener = createServer();
    this.guarded = new GuardedPort(listener, mostConnections);
    listener.on('connection', (socket) => {
      if (!socket.destroyed) connections.injectConnection(socket);
    });
  }

  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    this.server.addService(service, implementation);
  }

  listen(host: string, port: number): Promise<number> {
    return this.guarded.listen(host, port);
  }

  prove(peer: string): void {
    this.guarded.prove(peer);
  }

  doubt(peer: string): void {
    this.guarded.doubt(peer);
  }

  bytesFrom(peer: string): number {
    return this.guarded.bytesFrom(peer);
  }

  renew(tls: ServerTls): void {
    this.credentials?.renew(tls);
  }

  stopListening(): void {
    this.guarded.stopListening();
  }

  /** Waits for streams to end, but only briefly: a peer that neither reads nor hangs up would keep it open. */
  async close(): Promise<void> {
    const { server, guarded } = this;
    guarded.stopListening();
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => {
        server.forceShutdown();
        resolve();
      }, STOP_TIMEOUT_MS);
      server.tryShutdown(() => {
        clearTimeout(force);
        resolve();
      });
    });
    guarded.cut();
  }
}

/** A connection without a timely answer to a ping is dead: its peer has gone silently. */
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;
/** Limit per connection. */
const MOST_STREAMS = 4;
/** See the controller's end. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;
/** Time for connections to close by themselves. */
const STOP_TIMEOUT_MS = 500;

/** Encryption with a replaceable certificate: later connections get the new one, existing ones continue. */
class RenewableCredentials extends ServerCredentials {
  constructor({ cert, key }: ServerTls) {
    super({}, { cert, key });
  }

  renew({ cert, key }: ServerTls): void {
    this.updateSecureContextOptions({ cert, key });
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
