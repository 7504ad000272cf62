import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { formatAddress } from '../../wire/address.js';
import type { ClientTls } from '../../wire/credentials.js';
import { accessToHeaders } from '../../wire/hello.js';
import type { Network } from '../../wire/network.js';
import {
  LEASE_MESSAGES,
  MAX_REGISTRATION_BYTES,
  REGISTRATION_SERVICE,
  RENEWAL_MS,
  type RegistrationMessage,
  type WireLease,
  type WireRegistration,
} from '../../wire/protocol.js';
import { REAL_NETWORK } from '../../wire/real-network.js';
import { StreamCall } from '../../wire/stream-call.js';

interface RegistrarOptions {
  /** HOST:PORT of the controller. */
  readonly controller: string;
  /** Token required by the controller; empty: none. */
  readonly token: string;
  /** Absent: no encryption. */
  readonly tls?: ClientTls | undefined;
  /** Expected name in its certificate; absent: the host of its address. */
  readonly serverName?: string;
  readonly registration: WireRegistration;
  /** Receives lines for the operator, at each attempt; `isProblem`: something is wrong with `controller`. */
  readonly log: (line: string, isProblem: boolean, controller: string) => void;
  /** Default: this machine's. */
  readonly time?: Time;
  readonly network?: Network;
}

/** Unanswered renewals after which a controller counts as unreachable. */
const MOST_UNANSWERED = 5;
const LAST_WORD_MS = 1000;

/**
 * Keeps a worker registered with one controller, however often that goes and comes. Problems are
 * reported, never thrown, except an unusable certificate authority: `E_TLS`.
 */
export class Registrar {
  private call: StreamCall<RegistrationMessage, WireLease> | null = null;
  private unanswered = 0;
  private hasJoined = false;
  /** Last line logged about the lease. */
  private said = '';
  private readonly time: Time;
  private readonly timer: Timer;
  private tls: ClientTls | undefined;

  constructor(private readonly options: RegistrarOptions) {
    this.tls = options.tls;
    this.time = options.time ?? REAL_TIME;
    this.timer = this.time.every(RENEWAL_MS, () => this.renew());
    this.renew();
  }

  /** Sets the trusted authority for later connections. */
  trust(tls: ClientTls): void {
    this.tls = tls;
  }

  /** Removes the worker from the controller's list. */
  async leave(): Promise<void> {
    this.timer.cancel();
    const { call } = this;
    this.call = null;
    await call?.close({ body: 'leave' }, LAST_WORD_MS);
  }

  private renew(): void {
    if (this.unanswered >= MOST_UNANSWERED) this.call?.cancel('the controller does not answer');
    this.call ??= this.connect();
    this.unanswered++;
    this.call.write({ body: 'register', ...this.options.registration });
  }

  private connect(): StreamCall<RegistrationMessage, WireLease> {
    const { controller, token, serverName, network = REAL_NETWORK } = this.options;
    this.unanswered = 0;
    const call = new StreamCall<RegistrationMessage, WireLease>({
      time: this.time,
      network,
      address: controller,
      tls: this.tls,
      serverName,
      peer: 'controller',
      foreign: `nothing takes registrations at ${controller}: give the port of the controller's --listen`,
      method: REGISTRATION_SERVICE.Register,
      headers: accessToHeaders(token),
      maxMessageBytes: MAX_REGISTRATION_BYTES,
      decode: (bytes) => LEASE_MESSAGES.decode(bytes),
      receive: (lease) => this.leased(lease),
      ended: (reason) => {
        if (this.call !== call) return;
        // The next renewal reconnects.
        this.call = null;
        this.unanswered = 0;
        this.say(reason, true);
      },
    });
    return call;
  }

  private leased({ joined, problem }: WireLease): void {
    this.unanswered = 0;
    if (joined && !this.hasJoined) this.say('has added this worker to its cluster', false);
    else if (!joined && this.hasJoined) this.say('no longer has this worker in its cluster', true);
    this.hasJoined = joined;
    if (problem !== this.said && problem !== '') this.say(`does not use this worker: ${problem}`, true);
    this.said = problem;
  }

  private say(what: string, isProblem: boolean): void {
    const { controller, log } = this.options;
    log(`controller ${controller}: ${what}`, isProblem, controller);
  }
}

/** Interval between lookups of the controllers' addresses. */
const LOOKUP_MS = 5000;

/**
 * Keeps a worker registered with all controllers behind a name: a controller and its standby may share one. Problems
 * are reported, never thrown.
 */
export class Registrars {
  private readonly host: string;
  private readonly port: number;
  /** By address. */
  private readonly registrars = new Map<string, Registrar>();
  private readonly network: Network;
  private readonly timer: Timer;
  private tls: ClientTls | undefined;
  private isOver = false;
  private isLooking = false;

  /** `controller`: HOST:PORT. */
  constructor(private readonly options: Omit<RegistrarOptions, 'serverName'>) {
    const { controller, time = REAL_TIME, network = REAL_NETWORK } = options;
    const colon = controller.lastIndexOf(':');
    this.host = controller.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
    this.port = Number(controller.slice(colon + 1));
    this.tls = options.tls;
    this.network = network;
    this.timer = time.every(LOOKUP_MS, () => void this.look());
    void this.look();
  }

  /** Sets the trusted authority for later connections. */
  trust(tls: ClientTls): void {
    this.tls = tls;
    for (const registrar of this.registrars.values()) registrar.trust(tls);
  }

  /** Removes the worker from the lists of all controllers. */
  async leave(): Promise<void> {
    this.isOver = true;
    this.timer.cancel();
    await Promise.all([...this.registrars.values()].map((registrar) => registrar.leave()));
  }

  /** One lookup at a time: a slow one is not repeated, and none can end after a newer one. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      this.follow(await this.network.lookup(this.host));
    } catch (error) {
      this.complain((error as Error).message);
    } finally {
      this.isLooking = false;
    }
  }

  private complain(why: string): void {
    const { options } = this;
    const { controller, log } = options;
    if (!this.isOver) log(`controller ${controller}: its name is not found: ${why}`, true, controller);
  }

  /** Applies the current addresses of the controllers. */
  private follow(found: readonly string[]): void {
    const { registrars } = this;
    if (this.isOver) return;
    for (const [address, registrar] of registrars) {
      if (found.includes(address)) continue;
      registrars.delete(address);
      void registrar.leave();
    }
    for (const address of found)
      if (!registrars.has(address)) registrars.set(address, this.registerAt(address));
  }

  private registerAt(address: string): Registrar {
    const { host, port, tls, options } = this;
    return new Registrar({ ...options, tls, controller: formatAddress(address, port), serverName: host });
  }
}
