import type { ServiceDefinition } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { NS_PER_MS } from '../../../../src/base/units.js';
import type { DialOptions } from '../../../../src/live/wire/network.js';
import type { SimMachine } from '../machine.js';
import type { SimProcess } from '../process.js';
import type { Simulation } from '../simulation.js';
import type { Direction, Incarnation } from '../tap.js';
import type { ThreadLoop } from '../thread-loop.js';
import type { Path } from './path.js';
import { Lane } from './path.js';
import { PROBATION_MS, type SimServer } from './sim-server.js';
import type { DialedCall } from './streams.js';
import { Accepted } from './streams.js';

/** How a call ended, for its caller. */
export interface CallStatus {
  readonly code: number;
  readonly details: string;
}

/** Who has one end of a connection. */
export interface Owner extends Incarnation {
  readonly machine: string;
  readonly loop: ThreadLoop;
}

export function ownerOf(process: SimProcess, loop: ThreadLoop): Owner {
  const { name, incarnation, machine } = process;
  return { process: name, incarnation, machine: machine.name, loop };
}

interface ConnectionOptions {
  readonly id: number;
  readonly client: Owner;
  readonly server: SimServer;
  readonly to: Path;
  readonly back: Path;
  readonly dial: DialOptions<unknown>;
  /** HOST:PORT of the caller. */
  readonly peer: string;
  readonly closed: () => void;
}

/** A connection between two processes, with one stream on it. */
export class Connection {
  readonly id: number;
  readonly peer: string;
  readonly client: Owner;
  readonly server: SimServer;
  readonly call: DialedCall;
  accepted: Accepted | null = null;
  bytesRead = 0;
  private readonly toServer: Lane;
  private readonly toClient: Lane;
  private clientHasIt = true;
  private serverHasIt = true;
  private readonly unheardFrom = new Set<Direction>();
  private forgottenBy: SimMachine | null = null;
  private readonly frames: Record<Direction, number> = { toServer: 0, toClient: 0 };

  constructor(
    private readonly simulation: Simulation,
    private readonly options: ConnectionOptions,
    call: DialedCall,
  ) {
    const { id, client, server, to, back, peer } = options;
    this.id = id;
    this.peer = peer;
    this.client = client;
    this.server = server;
    this.call = call;
    this.toServer = new Lane(simulation, to, () => server.owner.loop);
    this.toClient = new Lane(simulation, back, () => client.loop);
    simulation.tap.connection?.(simulation.nowNs, id, 'opened', client, server.owner);
    this.tell('toServer', HEADERS_BYTES, () => server.accept(this));
  }

  /** The handler of the method that was called; null: there is none. */
  begin(methods: readonly (readonly [ServiceDefinition, Record<string, unknown>])[]): void {
    const { dial } = this.options;
    for (const [service, implementation] of methods) {
      const method = Object.entries(service).find(([, { path }]) => path === dial.method.path);
      if (method === undefined) continue;
      const [name, definition] = method;
      this.accepted = new Accepted(this, dial.headers, definition.responseSerialize);
      (implementation[name] as (call: Accepted) => void)(this.accepted);
      return;
    }
    const details = `The server does not implement the method ${dial.method.path}`;
    this.sendStatus({ code: status.UNIMPLEMENTED, details });
  }

  sendToServer(message: unknown): void {
    const { requestSerialize } = this.options.dial.method;
    this.send('toServer', message, requestSerialize(message), (bytes) => {
      const limit = this.server.options.maxMessageBytes;
      if (bytes.length <= limit) this.accepted?.data(bytes);
      else {
        this.sendStatus(tooLarge(bytes, limit));
        this.accepted?.broken(false);
      }
    });
  }

  sendToClient(message: unknown, bytes: Buffer): void {
    this.send('toClient', message, bytes, (received) => {
      const limit = this.options.dial.maxMessageBytes;
      if (received.length <= limit) this.call.data(received);
      else {
        this.tell('toServer', CONTROL_BYTES, () => this.accepted?.broken(true));
        this.call.finish(tooLarge(received, limit));
      }
    });
  }

  /** The caller says no more. */
  sendEnd(): void {
    this.tell('toServer', CONTROL_BYTES, () => this.accepted?.ended());
  }

  sendStatus(status: CallStatus): void {
    this.tell('toClient', CONTROL_BYTES, () => this.call.finish(status));
  }

  /** Asks for a sign of life; what comes back counts as read. */
  ping(answered: () => void): void {
    this.tell('toClient', CONTROL_BYTES, () => this.tell('toServer', CONTROL_BYTES, answered));
  }

  /** The caller closes its end, or its process has ended. */
  leaveAsClient(): void {
    if (!this.clientHasIt) return;
    this.clientHasIt = false;
    this.tell('toServer', CONTROL_BYTES, () => this.lostByServer(true));
    this.closeIfLeft();
  }

  /** The server closes its end, or its process has ended. */
  leaveAsServer(status: CallStatus = DROPPED): void {
    if (!this.serverHasIt) return;
    this.serverHasIt = false;
    this.server.left(this);
    if (!this.server.owner.loop.isOver) this.accepted?.broken(false);
    this.tell('toClient', CONTROL_BYTES, () => this.lostByClient(status));
    this.closeIfLeft();
  }

  /** A fault: both ends notice at once that it is broken. */
  reset(): void {
    const { client, server } = this;
    this.silence();
    client.loop.receive(0, () => this.lostByClient({ code: status.UNAVAILABLE, details: 'read ECONNRESET' }));
    server.owner.loop.receive(0, () => this.lostByServer(false));
  }

  /** A fault: nothing arrives at either end any more, and neither notices, until one of them loses patience. */
  silence(): void {
    this.toServer.isDead = true;
    this.toClient.isDead = true;
    // The system of the server has accepted it, which closes what does not prove itself.
    const { loop } = this.server.owner;
    if (this.accepted === null) loop.receive(PROBATION_MS * NS_PER_MS, () => this.lostByServer(false));
  }

  /** What was sent does not arrive: the system of the sender gives up in the end. */
  private unheard(from: Direction): void {
    if (this.unheardFrom.has(from)) return;
    this.unheardFrom.add(from);
    const lostAfter = (delayNs: number, details: string) => {
      const { client, server } = this;
      if (from === 'toClient') server.owner.loop.receive(delayNs, () => this.lostByServer(false));
      else client.loop.receive(delayNs, () => this.lostByClient({ code: status.UNAVAILABLE, details }));
    };
    if (this.forgottenBy === null) lostAfter(TCP_PATIENCE_NS, 'read ETIMEDOUT');
    else this.forgottenBy.whenOn(() => lostAfter(this.toServer.path.delayNs(), 'read ECONNRESET'));
  }

  /** A fault: a machine has lost power, and knows nothing of it when it is on again. */
  forget(machine: SimMachine): void {
    this.silence();
    this.forgottenBy = machine;
  }

  private lostByClient(status: CallStatus): void {
    if (!this.clientHasIt) return;
    this.clientHasIt = false;
    this.call.finish(status);
    this.closeIfLeft();
  }

  private lostByServer(isOrderly: boolean): void {
    if (!this.serverHasIt) return;
    this.serverHasIt = false;
    this.server.left(this);
    this.accepted?.broken(isOrderly);
    this.closeIfLeft();
  }

  private closeIfLeft(): void {
    if (this.clientHasIt || this.serverHasIt) return;
    const { simulation, client, server, id, options } = this;
    simulation.tap.connection?.(simulation.nowNs, id, 'closed', client, server.owner);
    options.closed();
  }

  private send(direction: Direction, message: unknown, bytes: Buffer, arrive: (bytes: Buffer) => void): void {
    const { simulation, id } = this;
    const frame = this.frames[direction]++;
    simulation.tap.message?.(simulation.nowNs, id, direction, message, frame);
    const lane = direction === 'toServer' ? this.toServer : this.toClient;
    this.tell(direction, FRAME_BYTES + bytes.length, () => {
      const received = lane.path.passed(bytes);
      if (received !== bytes) simulation.tap.damaged?.(simulation.nowNs, id);
      if (received === null) return;
      simulation.note(bytes.length);
      simulation.tap.delivered?.(simulation.nowNs, id, direction, frame);
      arrive(received);
    });
  }

  private tell(direction: Direction, bytes: number, arrive: () => void): void {
    const lane = direction === 'toServer' ? this.toServer : this.toClient;
    if (lane.isDead) this.unheard(direction);
    else if (direction === 'toClient') lane.send(bytes, arrive);
    else {
      lane.send(bytes, () => {
        this.bytesRead += bytes;
        arrive();
      });
    }
  }
}

export const DROPPED: CallStatus = { code: status.UNAVAILABLE, details: 'Connection dropped' };

/** What HTTP/2 and gRPC add to a message, and what takes the place of one that says nothing. */
const FRAME_BYTES = 14;
const CONTROL_BYTES = 17;
const HEADERS_BYTES = 300;
/** Linux sends again for so long what is not acknowledged (tcp_retries2). */
const TCP_PATIENCE_NS = 924e9;

function tooLarge({ length }: Buffer, limit: number): CallStatus {
  const details = `Received message larger than max (${length} vs ${limit})`;
  return { code: status.RESOURCE_EXHAUSTED, details };
}
