import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { checkIdentity, type ServerTls } from './credentials.js';
import { GuardedPort } from './guarded-port.js';
import { grpcListener, onAccepted, renewTls } from './listener.js';

export interface StreamServerOptions {
  /** Absent: no encryption. */
  readonly tls?: ServerTls | undefined;
  /** Owner of the port, for people, e.g. "the worker". */
  readonly whose: string;
  readonly maxMessageBytes: number;
  readonly mostConnections: number;
}

/**
 * A gRPC server for long-lived peers, on a port that strangers cannot fill. The constructor throws `E_TLS` for an
 * unusable certificate.
 */
export class GuardedServer extends GuardedPort {
  private readonly grpc: Server;

  constructor({ tls, whose, maxMessageBytes, mostConnections }: StreamServerOptions) {
    if (tls !== undefined) checkIdentity(tls, `the certificate and key of ${whose}`);
    super(grpcListener(tls ?? null), mostConnections);
    this.grpc = new Server({
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': MOST_STREAMS,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    });
    const connections = this.grpc.createConnectionInjector(ServerCredentials.createInsecure());
    onAccepted(this.server, (socket) => connections.injectConnection(socket));
  }

  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    this.grpc.addService(service, implementation);
  }

  /** Renews the certificate for later connections, if it encrypts at all. */
  renew(tls: ServerTls): void {
    renewTls(this.server, tls);
  }

  /** Waits for streams to end, but only briefly: a peer that neither reads nor hangs up would keep it open. */
  async close(): Promise<void> {
    this.stopListening();
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => {
        this.grpc.forceShutdown();
        resolve();
      }, STOP_TIMEOUT_MS);
      this.grpc.tryShutdown(() => {
        clearTimeout(force);
        resolve();
      });
    });
    this.cut();
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
