import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { Timer } from '../../../../src/base/world/time.js';
import type { StreamServerOptions } from '../../../../src/live/wire/guarded-server.js';
import type { StreamServer } from '../../../../src/live/wire/network.js';
import type { Connection, Owner } from './connection.js';
import type { SimNetwork } from './sim-network.js';

/** A port of a simulated machine, with the rules of `GuardedServer` and `GuardedPort`. */
export class SimServer implements StreamServer {
  private readonly methods: [ServiceDefinition, Record<string, unknown>][] = [];
  private readonly connections = new Map<string, Connection>();
  /** Those that have not proved themselves, oldest first. */
  private readonly probation = new Map<string, Timer>();
  private readonly keepalives = new Map<Connection, Keepalive>();

  constructor(
    private readonly network: SimNetwork,
    readonly owner: Owner,
    readonly options: StreamServerOptions,
  ) {}

  addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    this.methods.push([service, implementation]);
  }

  async listen(host: string, port: number): Promise<number> {
    return this.network.listen(this, host, port);
  }

  prove(peer: string): void {
    this.probation.get(peer)?.cancel();
    this.probation.delete(peer);
  }

  doubt(peer: string): void {
    const connection = this.connections.get(peer);
    if (connection === undefined) return;
    this.prove(peer);
    this.probation.set(
      peer,
      this.owner.loop.after(PROBATION_MS, () => connection.leaveAsServer()),
    );
  }

  bytesFrom(peer: string): number {
    return this.connections.get(peer)?.bytesRead ?? 0;
  }

  renew(): void {
    // Nothing is encrypted here.
  }

  stopListening(): void {
    this.network.stopListening(this);
  }

  async close(): Promise<void> {
    this.stopListening();
    const { loop } = this.owner;
    const untilNs = loop.monotonicNs() + STOP_TIMEOUT_MS * 1e6;
    while (this.connections.size > 0 && loop.monotonicNs() < untilNs)
      await new Promise<void>((resolve) => loop.after(STOP_LOOK_MS, resolve));
    for (const connection of [...this.connections.values()])
      connection.leaveAsServer({ code: status.CANCELLED, details: 'Call cancelled' });
  }

  /** The first bytes of a connection are here. */
  accept(connection: Connection): void {
    const { connections } = this;
    connections.set(connection.peer, connection);
    if (connections.size > this.options.mostConnections && !this.dropOldest()) {
      connection.leaveAsServer();
      return;
    }
    this.doubt(connection.peer);
    this.keepalives.set(connection, new Keepalive(this.owner, connection));
    connection.begin(this.methods);
  }

  /** The connection is closed at this end. */
  left(connection: Connection): void {
    const { peer } = connection;
    this.prove(peer);
    this.connections.delete(peer);
    this.keepalives.get(connection)?.stop();
    this.keepalives.delete(connection);
  }

  private dropOldest(): boolean {
    const [oldest] = this.probation.keys();
    if (oldest === undefined) return false;
    this.connections.get(oldest)?.leaveAsServer();
    return true;
  }
}

/** Closes a connection whose other end does not answer pings. */
class Keepalive {
  private patience: Timer | null = null;
  private readonly timer: Timer;

  constructor({ loop }: Owner, connection: Connection) {
    this.timer = loop.every(KEEPALIVE_MS, () => {
      this.patience ??= loop.after(KEEPALIVE_TIMEOUT_MS, () => connection.leaveAsServer());
      connection.ping(() => {
        this.patience?.cancel();
        this.patience = null;
      });
    });
  }

  stop(): void {
    this.timer.cancel();
    this.patience?.cancel();
  }
}

/** As src/live/wire says. */
export const PROBATION_MS = 5000;
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 500;
const STOP_LOOK_MS = 5;
