import { invariant } from '../../../base/invariant.js';
import type { Timer } from '../../../base/world/time.js';
import type { ActionMessage, ModelReference } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import { Repeats } from '../../repeats.js';
import type { ClientTls } from '../../wire/credentials.js';
import { DEFAULT_MAX_MESSAGE_BYTES, type LeaseState } from '../../wire/protocol.js';
import { Backoff } from './backoff.js';
import type { ClockSync } from './clock-sync.js';
import { type LinkWorld, StreamLink } from './stream-link.js';
import { type Driving, type WorkerEvents, WorkerGone, type WorkerLink } from './worker-link.js';

export interface ReconnectingLinkOptions {
  /** HOST:PORT. */
  readonly address: string;
  /** Token required by the worker; absent: none. */
  readonly token?: string;
  /** Registered process of the worker; absent: any process. */
  readonly instance?: string;
  /** Absent: no encryption. */
  readonly tls?: ClientTls;
  /** Name of the controller, the same for all workers. */
  readonly controller: string;
  /** Largest message accepted from the worker. */
  readonly maxMessageBytes?: number;
  /** Ping interval. */
  readonly heartbeatMs?: number;
  /** Silence after which a worker is considered down. */
  readonly silenceMs?: number;
  readonly world: LinkWorld;
  /** Receives lines for the operator about why the worker cannot be reached. */
  readonly log: (line: string) => void;
  /** Called with a better estimate of the worker's clock, or null when there is none. */
  readonly timed: (clock: ClockSync | null) => void;
  /** See `StreamLinkOptions`. */
  readonly otherAddress: (instance: string) => string | null;
  /** Called when the worker's lease has changed; null: unreachable. */
  readonly lease: (lease: LeaseState | null) => void;
}

/**
 * The controller's end of a connection to a remote worker (worker.proto), in the thread of links. Connects, and
 * reconnects whenever the stream has ended: 0.1 s after the first failure, up to every 2 s. Problems are reported,
 * never thrown.
 */
export class ReconnectingLink implements WorkerLink {
  readonly name: string;
  private readonly options: ReconnectingLinkOptions;
  private readonly backoff = new Backoff(FIRST_RECONNECT_MS, LONGEST_RECONNECT_MS);
  private events: WorkerEvents | null = null;
  private nowNs: () => number = () => 0;
  private stream: StreamLink | null = null;
  private reconnect: Timer | null = null;
  private readonly repeats = new Repeats();
  private tls: ClientTls | undefined;
  private isSuspended = false;
  /** True if the worker was found at another address, which was logged. */
  private isElsewhere = false;

  constructor(options: ReconnectingLinkOptions) {
    this.name = options.address;
    this.options = options;
    this.tls = options.tls;
  }

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.events === null, 'a worker is started once');
    this.nowNs = nowNs;
    this.events = events;
    this.connect(events);
  }

  /** Asks for the worker's lease. */
  take(term: number): void {
    this.stream?.take(term);
  }

  send(actions: readonly ActionMessage[]): void {
    invariant(this.stream !== null, 'actions go to a worker that is up');
    this.stream.send(actions);
  }

  async listModels(name: string | null): Promise<ModelList> {
    if (this.stream === null) throw new WorkerGone();
    return this.stream.listModels(name);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    if (this.stream === null) throw new WorkerGone();
    return this.stream.addModel(index, reference);
  }

  async dropModel(index: number): Promise<void> {
    await this.stream?.dropModel(index);
  }

  /** Sets the trusted authority for later connections. */
  renew(tls: ClientTls): void {
    this.tls = tls;
  }

  restart(reason: string, gpu: number | null): void {
    this.stream?.restart(reason, gpu);
  }

  /** Hangs up, and does not reconnect before `resume`. */
  suspend(reason: string): void {
    this.isSuspended = true;
    this.reconnect?.cancel();
    this.stream?.cancel(reason);
  }

  resume(): void {
    if (!this.isSuspended || this.events === null) return;
    this.isSuspended = false;
    this.connect(this.events);
  }

  startRecording(): void {
    this.stream?.startRecording();
  }

  async stopRecording(): Promise<OperatorRuns> {
    return this.stream?.stopRecording() ?? NO_OPERATORS;
  }

  async close(): Promise<void> {
    this.reconnect?.cancel();
    const { stream } = this;
    this.stream = null;
    await stream?.close();
  }

  private connect(events: WorkerEvents): void {
    const { options, nowNs } = this;
    let isElsewhere = false;
    this.stream = new StreamLink({
      address: options.address,
      token: options.token ?? '',
      instance: options.instance ?? '',
      tls: this.tls,
      maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      heartbeatMs: options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS,
      silenceMs: options.silenceMs ?? DEFAULT_SILENCE_MS,
      controller: options.controller,
      events,
      nowNs,
      world: options.world,
      log: (line) => this.complain(line),
      timed: (clock) => options.timed(clock),
      otherAddress: (instance) => {
        const other = options.otherAddress(instance);
        isElsewhere = other !== null;
        return other;
      },
      lease: (lease) => {
        options.lease(lease);
        events.driven(this.driving(lease));
      },
      ended: (reason, wasUp) => {
        this.stream = null;
        options.timed(null);
        options.lease(null);
        events.driven('none');
        if (this.isSuspended) return;
        if (!wasUp && !(isElsewhere && this.isElsewhere)) this.complain(reason);
        this.isElsewhere = isElsewhere;
        const delayMs = this.backoff.delayMs(nowNs());
        this.reconnect = options.world.time.after(delayMs, () => this.connect(events));
      },
    });
  }

  private driving({ controller }: LeaseState): Driving {
    if (controller === '') return 'none';
    return controller === this.options.controller ? 'this' : 'another';
  }

  /** Logs the same problem at most once a minute, with its count, however often attempts fail. */
  private complain(reason: string): void {
    const times = this.repeats.toSay(reason, this.nowNs());
    if (times > 0) this.options.log(times > 1 ? `${reason} (${times} times)` : reason);
  }
}

const DEFAULT_HEARTBEAT_MS = 200;
const DEFAULT_SILENCE_MS = 1000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2000;
