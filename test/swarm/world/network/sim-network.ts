import { status } from '@grpc/grpc-js';
import { EscapementError } from '../../../../src/base/errors.js';
import type { Dialed, DialOptions, Network } from '../../../../src/live/wire/network.js';
import type { SimMachine } from '../machine.js';
import type { SimProcess } from '../process.js';
import type { Simulation } from '../simulation.js';
import type { ThreadLoop } from '../thread-loop.js';
import { type CallStatus, Connection, ownerOf } from './connection.js';
import { Path, type PathQuality } from './path.js';
import { SimServer } from './sim-server.js';
import { DialedCall } from './streams.js';

/** The network between simulated machines: streams of gRPC over connections that can break in every way. */
export class SimNetwork {
  private readonly paths = new Map<string, Path>();
  private readonly servers = new Map<string, SimServer>();
  private readonly connections = new Set<Connection>();
  private lastPort = FIRST_PORT;
  private lastConnection = 0;

  constructor(private readonly simulation: Simulation) {}

  /** As a thread of a process sees it. */
  seenFrom(process: SimProcess, loop: ThreadLoop): Network {
    return {
      dial: (options) =>
        this.dial(process, loop, options as DialOptions<unknown>) as Dialed<unknown> as never,
      server: (options) => new SimServer(this, ownerOf(process, loop), options),
      lookup: (host) =>
        new Promise((resolve, reject) => {
          const found = this.addressesOf(host, process.machine);
          loop.receive(LOOKUP_NS, () =>
            found.length > 0 ? resolve(found) : reject(new Error(`getaddrinfo ENOTFOUND ${host}`)),
          );
        }),
    };
  }

  /** One direction between two machines. */
  path(from: SimMachine, to: SimMachine): Path {
    const key = `${from.name}>${to.name}`;
    const known = this.paths.get(key);
    if (known !== undefined) return known;
    const random = this.simulation.random(`network/${key}`);
    const quality = from === to ? LOOPBACK : { ...LAN, delayNs: 30_000 + Math.floor(random() * 200_000) };
    const path = new Path(() => this.simulation.nowNs, random, quality);
    this.paths.set(key, path);
    return path;
  }

  /** A fault: all connections between two machines, or of one, break, and both ends notice. */
  reset(one: SimMachine, other?: SimMachine): void {
    for (const connection of this.between(one, other)) connection.reset();
  }

  /** A fault: they are half-open from now on: nothing arrives, and neither end notices. */
  silence(one: SimMachine, other?: SimMachine): void {
    for (const connection of this.between(one, other)) connection.silence();
  }

  /** A machine has lost power: its connections are half-open until it is on again, and then unknown to it. */
  forget(machine: SimMachine): void {
    for (const connection of this.between(machine)) connection.forget(machine);
  }

  /** Throws `E_LISTEN`. */
  listen(server: SimServer, host: string, wanted: number): number {
    const machine = this.simulation.machines.get(server.owner.machine) as SimMachine;
    const port = wanted === 0 ? ++this.lastPort : wanted;
    const key = `${machine.address}:${port}`;
    if (this.servers.has(key))
      throw new EscapementError('E_LISTEN', `cannot listen on ${host}:${port}: EADDRINUSE`);
    this.servers.set(key, server);
    return port;
  }

  stopListening(server: SimServer): void {
    for (const [key, each] of this.servers) if (each === server) this.servers.delete(key);
  }

  /** A process has ended: the system closes what it had. */
  ended(process: SimProcess): void {
    for (const { client, server } of this.connections) {
      if (client.process === process.name) this.loopEnded(client.loop);
      if (server.owner.process === process.name) this.loopEnded(server.owner.loop);
    }
    for (const server of [...this.servers.values()])
      if (server.owner.process === process.name) this.stopListening(server);
  }

  /** A thread has ended: the same. */
  loopEnded(loop: ThreadLoop): void {
    for (const connection of [...this.connections]) {
      if (connection.client.loop === loop) connection.leaveAsClient();
      if (connection.server.owner.loop === loop) connection.leaveAsServer();
    }
  }

  private between(one: SimMachine, other?: SimMachine): Connection[] {
    return [...this.connections].filter(({ client, server }) => {
      const ends = [client.machine, server.owner.machine];
      return ends.includes(one.name) && (other === undefined || ends.includes(other.name));
    });
  }

  private dial(process: SimProcess, loop: ThreadLoop, options: DialOptions<unknown>): Dialed<unknown> {
    const call = new DialedCall(loop);
    this.connect({ process, loop, options, call, peer: `${process.machine.address}:${++this.lastPort}` }, 0);
    return { stream: call, hangUp: () => call.hangUp() };
  }

  /** Connecting takes a round trip, and is tried again where nothing comes back. */
  private connect(attempt: Attempt, tries: number): void {
    const { process, loop, options, call } = attempt;
    const { simulation } = this;
    const colon = options.address.lastIndexOf(':');
    const [address] = this.addressesOf(options.address.slice(0, colon), process.machine);
    const machine = [...simulation.machines.values()].find((each) => each.address === address);
    if (machine === undefined) {
      const details = `Name resolution failed for target dns:${options.address}`;
      loop.receive(LOOKUP_NS, () => call.finish({ code: status.UNAVAILABLE, details }));
      return;
    }
    const to = this.path(process.machine, machine);
    const back = this.path(machine, process.machine);
    const target = `${machine.address}:${options.address.slice(colon + 1)}`;
    const roundTripNs = to.delayNs() + back.delayNs();
    const isHeard = !to.isCut && !back.isCut && !machine.isOff;
    loop.receive(isHeard ? roundTripNs : CONNECT_PAUSES_NS[tries], () => {
      if (call.isGone) return;
      if (!isHeard && tries + 1 < CONNECT_PAUSES_NS.length) this.connect(attempt, tries + 1);
      else if (!isHeard) call.finish(unreachable(target, 'ETIMEDOUT'));
      else {
        const server = this.servers.get(target);
        if (server === undefined) call.finish(unreachable(target, 'ECONNREFUSED'));
        else this.establish(attempt, server, to, back);
      }
    });
  }

  private establish(attempt: Attempt, server: SimServer, to: Path, back: Path): void {
    const echo = to.doubleNext > 0 ? attempt.call.echo() : null;
    this.open(attempt, server, to, back);
    if (echo === null) return;
    to.doubleNext--;
    const { process } = attempt;
    const peer = `${process.machine.address}:${++this.lastPort}`;
    const second = this.open({ ...attempt, call: echo, peer }, server, to, back);
    const { simulation } = this;
    const leftNs = simulation.random(`echo/${second.id}`)() * LONGEST_ECHO_NS;
    simulation.at(simulation.nowNs + leftNs, () => second.leaveAsClient());
  }

  private open(
    { process, loop, options, call, peer }: Attempt,
    server: SimServer,
    to: Path,
    back: Path,
  ): Connection {
    const client = ownerOf(process, loop);
    const connection: Connection = new Connection(
      this.simulation,
      {
        ...{ id: ++this.lastConnection, client, server, to, back, dial: options, peer },
        closed: () => this.connections.delete(connection),
      },
      call,
    );
    this.connections.add(connection);
    call.connected(connection);
    return connection;
  }

  private addressesOf(host: string, from: SimMachine): readonly string[] {
    if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return [host.startsWith('127.') ? from.address : host];
    if (host === 'localhost') return [from.address];
    const machine = this.simulation.machines.get(host);
    return machine === undefined ? [] : [machine.address];
  }
}

interface Attempt {
  readonly process: SimProcess;
  readonly loop: ThreadLoop;
  readonly options: DialOptions<unknown>;
  readonly call: DialedCall;
  readonly peer: string;
}

const LOOPBACK: PathQuality = { delayNs: 15_000, jitterNs: 10_000, bytesPerS: 5e9 };
const LAN: PathQuality = { delayNs: 100_000, jitterNs: 50_000, bytesPerS: 1.25e9 };
const FIRST_PORT = 40_000;
const LOOKUP_NS = 1_000_000;
/** TCP asks again after these, and gives up after the last. */
const CONNECT_PAUSES_NS: readonly number[] = [1e9, 2e9, 4e9, 8e9, 5e9];
/** The second of two connections that were to be one is closed by then. */
const LONGEST_ECHO_NS = 5e9;

/** As grpc-js says it. */
function unreachable(address: string, why: string): CallStatus {
  const what = `Error: connect ${why} ${address}`;
  return {
    code: status.UNAVAILABLE,
    details: `No connection established. Last error: ${what}. Resolution note: `,
  };
}
