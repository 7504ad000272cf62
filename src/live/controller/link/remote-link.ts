import { invariant } from '../../../base/invariant.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { Backoff } from '../../backoff.js';
import { checkAddress } from '../../wire/address.js';
import { type ClientTls, clientCredentials } from '../../wire/credentials.js';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type LeaseState,
  type Welcome,
  type WorkerMessage,
} from '../../wire/protocol.js';
import type { WorkerCall } from '../../wire/worker-call.js';
import { ClockSync } from './clock-sync.js';
import { Heartbeat } from './heartbeat.js';
import { RemoteLinks } from './remote-links.js';
import { RemoteMachine } from './remote-machine.js';
import type { Driving, LinkEvents, WorkerLink } from './worker-link.js';

export interface RemoteLinkOptions {
  /** HOST:PORT. */
  readonly address: string;
  /** Token required by the worker; absent: none. */
  readonly token?: string;
  /** Registered process of the worker; absent: any process. */
  readonly instance?: string;
  /** Absent: no encryption. */
  readonly tls?: ClientTls;
  /** Largest message accepted from the worker. */
  readonly maxMessageBytes?: number;
  /** Ping interval. */
  readonly heartbeatMs?: number;
  /** Silence after which a worker is considered down. */
  readonly silenceMs?: number;
  /** Receives lines for the operator about why the worker cannot be reached, one for each attempt. */
  readonly log?: (line: string) => void;
}

/** One stream with a worker, from its headers to its end. */
interface Connection {
  readonly call: WorkerCall;
  readonly clock: ClockSync;
  readonly welcomeTimeout: Timer;
  heartbeat: Heartbeat | null;
  /** Null until the worker has described itself. */
  machine: RemoteMachine | null;
  /** True once the worker's clock is known. */
  isSynchronised: boolean;
  /** True if the worker was asked for its lease, and so may have granted it. */
  hasAsked: boolean;
  /** True if the worker has granted it. */
  hasLease: boolean;
  isDriven: boolean;
  /** True if another link of the controller has the worker. */
  isElsewhere: boolean;
}

/**
 * Link to a remote worker. Connects, and reconnects whenever the stream has ended: 0.1 s after the first failure, up to
 * every 2 s. The constructor throws `E_USAGE` for an invalid address and `E_TLS` for an unusable certificate; later
 * problems are reported, never thrown.
 */
export class RemoteLink implements WorkerLink {
  readonly name: string;
  readonly isNamed: boolean;
  private readonly time: Time;
  /** Null: not started, or closed. */
  private events: LinkEvents | null = null;
  private nowNs: () => number = () => 0;
  private readonly backoff = new Backoff(FIRST_RECONNECT_MS, LONGEST_RECONNECT_MS);
  private connection: Connection | null = null;
  private reconnect: Timer | null = null;
  private tls: ClientTls | undefined;
  /** True if the worker was found at another address, which was logged. */
  private isElsewhere = false;

  /** `links`: shared by all links of a controller. */
  constructor(
    private readonly options: RemoteLinkOptions,
    private readonly links = new RemoteLinks(),
  ) {
    this.time = links.time;
    this.name = checkAddress(options.address);
    this.isNamed = options.instance !== undefined;
    this.tls = options.tls;
    clientCredentials(options.tls);
  }

  start(events: LinkEvents, nowNs: () => number): void {
    invariant(this.events === null, 'a link is started once');
    this.events = events;
    this.nowNs = nowNs;
    this.links.opened(this);
    this.connect();
  }

  /** Asks for the worker's lease: the worker comes up once it is granted. */
  take(term: number): void {
    const { connection } = this;
    if (connection === null) return;
    connection.hasAsked = true;
    connection.call.write({ body: 'take', term });
  }

  yield(): void {
    if (this.connection?.hasLease) this.connection.call.write({ body: 'yield' });
  }

  takeOver(): void {
    this.links.takeOver();
  }

  /** Sets the trusted authority for later connections. Throws `E_TLS` for an unusable one. */
  renew(tls: ClientTls): void {
    clientCredentials(tls);
    this.tls = tls;
  }

  async close(): Promise<void> {
    if (this.events === null) return;
    this.events = null;
    this.reconnect?.cancel();
    const { connection } = this;
    this.connection = null;
    this.links.closed(this);
    if (connection === null) return;
    silence(connection);
    await connection.call.close();
  }

  private connect(): void {
    const { options, links, name: address, tls, time } = this;
    const { token = '', maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
    this.connection = {
      call: links.call(
        { address, tls, token, controller: links.controller, maxMessageBytes },
        { receive: (message) => this.receive(message), ended: (reason) => this.ended(reason) },
      ),
      clock: new ClockSync(),
      welcomeTimeout: time.after(WELCOME_TIMEOUT_MS, () =>
        this.hangUp(`has said nothing for ${WELCOME_TIMEOUT_MS} ms`),
      ),
      ...{ heartbeat: null, machine: null },
      ...{ isSynchronised: false, hasAsked: false, hasLease: false, isDriven: false, isElsewhere: false },
    };
  }

  private receive(message: WorkerMessage): void {
    const { connection } = this;
    if (connection === null) return;
    connection.heartbeat?.heard();
    try {
      if (message.body === 'welcome') this.welcome(connection, message);
      else if (message.body === 'lease') this.lease(connection, message);
      else if (message.body !== 'pong') connection.machine?.receive(message);
      else if (connection.heartbeat?.pong(message.sentNs, message.workerNs) === false)
        throw new Error('answers a ping that it was not sent');
    } catch (error) {
      this.hangUp((error as Error).message);
    }
  }

  private welcome(connection: Connection, welcome: Welcome): void {
    if (connection.machine !== null) return;
    const { call, clock } = connection;
    const { options, nowNs, time } = this;
    const { heartbeatMs = DEFAULT_HEARTBEAT_MS, silenceMs = DEFAULT_SILENCE_MS } = options;
    connection.welcomeTimeout.cancel();
    const { instance = '' } = welcome.description;
    if (this.isNamed && instance !== options.instance)
      throw new Error('is not the one that registered this address');
    const other = this.links.otherAddress(this, instance);
    // Two connections would compete for its lease.
    connection.isElsewhere = other !== null;
    if (other !== null) throw new Error(`is the one at ${other}, and is used there`);
    connection.machine = new RemoteMachine(welcome, {
      clock,
      nowNs,
      write: (message) => call.write(message),
    });
    connection.heartbeat = new Heartbeat({
      ...{ everyMs: heartbeatMs, silenceMs, clock, nowNs, time },
      ping: (sentNs) => call.write({ body: 'ping', sentNs }),
      synchronised: () => {
        connection.isSynchronised = true;
        this.driveIfMay(connection);
      },
      silent: () => this.hangUp(`has said nothing for ${silenceMs} ms`),
    });
    // Last: it may close the link.
    this.events?.met(welcome.description);
  }

  private lease(connection: Connection, lease: LeaseState): void {
    // It names the same controller as long as another stream of ours seems to exist.
    connection.hasLease = connection.hasAsked && lease.controller === this.links.controller;
    this.links.leaseIs(this, lease);
    this.events?.driven(this.driving(lease), lease.yields);
    this.driveIfMay(connection);
  }

  /** Drives the worker once it has granted its lease and its clock is known. */
  private driveIfMay(connection: Connection): void {
    const { machine, clock, hasLease, isSynchronised, isDriven } = connection;
    if (!hasLease || !isSynchronised || machine === null || isDriven) return;
    connection.isDriven = true;
    this.events?.drives(machine, clock);
  }

  private driving({ controller }: LeaseState): Driving {
    if (controller === '') return 'none';
    return controller === this.links.controller ? 'this' : 'another';
  }

  private hangUp(complaint: string): void {
    this.connection?.call.cancel(`the worker ${complaint}`);
  }

  private ended(reason: string): void {
    const { connection, events, links } = this;
    if (connection === null) return;
    const { isElsewhere } = connection;
    silence(connection);
    this.connection = null;
    const wasUp = events?.lost(reason) === true;
    links.leaseIs(this, null);
    events?.driven('none');
    // It may have been closed for that.
    if (this.events === null) return;
    if (!wasUp && !(isElsewhere && this.isElsewhere)) this.complain(reason);
    this.isElsewhere = isElsewhere;
    const delayMs = this.backoff.delayMs(this.nowNs());
    this.reconnect = this.time.after(delayMs, () => this.connect());
  }

  complain(what: string): void {
    this.options.log?.(what);
  }
}

function silence({ welcomeTimeout, heartbeat }: Connection): void {
  welcomeTimeout.cancel();
  heartbeat?.stop();
}

const DEFAULT_HEARTBEAT_MS = 200;
const DEFAULT_SILENCE_MS = 1000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2000;
/** Time for a connection, with encryption, and the first answer. */
const WELCOME_TIMEOUT_MS = 5000;
