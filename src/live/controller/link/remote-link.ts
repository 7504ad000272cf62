import { invariant } from '../../../base/invariant.js';
import type { Timer } from '../../../base/world/time.js';
import { Repeats } from '../../repeats.js';
import { checkAddress } from '../../wire/address.js';
import { type ClientTls, clientCredentials } from '../../wire/credentials.js';
import { DEFAULT_MAX_MESSAGE_BYTES, type LeaseState } from '../../wire/protocol.js';
import { Backoff } from './backoff.js';
import { DrivingLink, type MachineLink } from './machine-link.js';
import { RemoteLinks } from './remote-links.js';
import { StreamLink } from './stream-link.js';
import type { Driving, WorkerEvents } from './worker-link.js';

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
  /** Receives lines for the operator about why the worker cannot be reached. */
  readonly log?: (line: string) => void;
}

/**
 * The controller's end of a connection to a remote worker. Connects, and reconnects whenever the stream has
 * ended: 0.1 s after the first failure, up to every 2 s. The constructor throws `E_USAGE` for an invalid address and
 * `E_TLS` for an unusable certificate; later problems are reported, never thrown.
 */
export class RemoteLink extends DrivingLink {
  readonly name: string;
  readonly isNamed: boolean;
  private readonly backoff = new Backoff(FIRST_RECONNECT_MS, LONGEST_RECONNECT_MS);
  /** Null: not started, or closed. */
  private events: WorkerEvents | null = null;
  private nowNs: () => number = () => 0;
  private stream: StreamLink | null = null;
  private reconnect: Timer | null = null;
  private readonly repeats = new Repeats();
  private tls: ClientTls | undefined;
  /** True if the worker was found at another address, which was logged. */
  private isElsewhere = false;

  /** `links`: those of one controller share one. */
  constructor(
    private readonly options: RemoteLinkOptions,
    private readonly links = new RemoteLinks(),
  ) {
    super();
    this.name = checkAddress(options.address);
    this.isNamed = options.instance !== undefined;
    this.tls = options.tls;
    clientCredentials(options.tls);
  }

  /** Maximum error of the worker's clock; null: no connection. */
  clockErrorNs(nowNs: number): number | null {
    const errorNs = this.stream?.clock.errorNs(nowNs) ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(errorNs) ? errorNs : null;
  }

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.events === null, 'a worker is started once');
    this.nowNs = nowNs;
    this.events = events;
    this.links.opened(this);
    this.connect(events);
  }

  /** Asks for the worker's lease. */
  take(term: number): void {
    this.stream?.take(term);
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
    const { stream } = this;
    this.stream = null;
    this.links.closed(this);
    await stream?.close();
  }

  protected get machine(): MachineLink | null {
    return this.stream?.machineLink ?? null;
  }

  private connect(events: WorkerEvents): void {
    const { options, links, nowNs } = this;
    let isElsewhere = false;
    this.stream = new StreamLink({
      address: this.name,
      token: options.token ?? '',
      instance: options.instance ?? '',
      tls: this.tls,
      maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      heartbeatMs: options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS,
      silenceMs: options.silenceMs ?? DEFAULT_SILENCE_MS,
      controller: links.controller,
      events,
      nowNs,
      time: links.time,
      call: links.call,
      log: (line) => this.complain(line),
      otherAddress: (instance) => {
        const other = links.otherAddress(this, instance);
        isElsewhere = other !== null;
        return other;
      },
      lease: (lease) => {
        links.leaseIs(this, lease);
        events.driven(this.driving(lease));
      },
      ended: (reason, wasUp) => {
        this.stream = null;
        links.leaseIs(this, null);
        events.driven('none');
        if (this.events === null) return;
        if (!wasUp && !(isElsewhere && this.isElsewhere)) this.complain(reason);
        this.isElsewhere = isElsewhere;
        const delayMs = this.backoff.delayMs(nowNs());
        this.reconnect = links.time.after(delayMs, () => this.connect(events));
      },
    });
  }

  private driving({ controller }: LeaseState): Driving {
    if (controller === '') return 'none';
    return controller === this.links.controller ? 'this' : 'another';
  }

  /** Logs the same problem at most once a minute, with its count, however often attempts fail. */
  private complain(reason: string): void {
    const { log = () => {} } = this.options;
    const times = this.repeats.toSay(reason, this.nowNs());
    if (times > 0) log(times > 1 ? `${reason} (${times} times)` : reason);
  }
}

const DEFAULT_HEARTBEAT_MS = 200;
const DEFAULT_SILENCE_MS = 1000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2000;
