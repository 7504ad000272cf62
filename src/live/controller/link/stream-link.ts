import type { Time, Timer } from '../../../base/world/time.js';
import type { ClientTls } from '../../wire/credentials.js';
import type { LeaseState, Welcome, WorkerMessage } from '../../wire/protocol.js';
import type { CallWorker, WorkerCall } from '../../wire/worker-call.js';
import { ClockSync } from './clock-sync.js';
import { Heartbeat } from './heartbeat.js';
import { MachineLink } from './machine-link.js';
import { MachineStub } from './machine-stub.js';
import type { WorkerEvents } from './worker-link.js';

interface StreamLinkOptions {
  /** HOST:PORT. */
  readonly address: string;
  readonly token: string;
  /** Process name that the worker must have; empty: any. */
  readonly instance: string;
  readonly tls: ClientTls | undefined;
  readonly maxMessageBytes: number;
  readonly heartbeatMs: number;
  readonly silenceMs: number;
  /** Name of the controller. */
  readonly controller: string;
  readonly events: WorkerEvents;
  readonly nowNs: () => number;
  readonly time: Time;
  readonly call: CallWorker;
  readonly log: (line: string) => void;
  /** Returns the address at which this controller already has the process (empty: unnamed); null: none. */
  readonly otherAddress: (instance: string) => string | null;
  /** Reports the worker's current lease. */
  readonly lease: (lease: LeaseState) => void;
  /** Reports the end; `events` was notified if the worker was up. Not called after `close`. */
  readonly ended: (reason: string, wasUp: boolean) => void;
}

/** One stream with a worker, from its headers to its end. */
export class StreamLink {
  readonly clock = new ClockSync();
  private readonly options: StreamLinkOptions;
  private readonly call: WorkerCall;
  private readonly welcomeTimeout: Timer;
  private heartbeat: Heartbeat | null = null;
  private stub: MachineStub | null = null;
  /** Null until the worker is driven. */
  machineLink: MachineLink | null = null;
  private isSynchronised = false;
  /** True if it was asked for the lease, and so may have granted it. */
  private hasAsked = false;
  private drives = false;

  constructor(options: StreamLinkOptions) {
    this.options = options;
    const { address, tls, token, controller, maxMessageBytes, time } = options;
    this.call = options.call(
      { address, tls, token, controller, maxMessageBytes },
      { receive: (message) => this.receive(message), ended: (reason) => this.callEnded(reason) },
    );
    this.welcomeTimeout = time.after(WELCOME_TIMEOUT_MS, () =>
      this.giveUp(`has said nothing for ${WELCOME_TIMEOUT_MS} ms`),
    );
  }

  /** Asks for the worker's lease: it comes up once it is granted. */
  take(term: number): void {
    this.hasAsked = true;
    this.call.write({ body: 'take', term });
  }

  async close(): Promise<void> {
    this.stop();
    this.machineLink?.end();
    await this.call.close();
  }

  private receive(message: WorkerMessage): void {
    this.heartbeat?.heard();
    try {
      if (message.body === 'welcome') this.welcome(message);
      else if (message.body === 'lease') this.lease(message);
      else if (message.body === 'pong') this.pong(message.sentNs, message.workerNs);
      else this.stub?.receive(message);
    } catch (error) {
      this.giveUp((error as Error).message);
    }
  }

  private pong(sentNs: number, workerNs: number): void {
    if (this.heartbeat?.pong(sentNs, workerNs) === false)
      throw new Error('answers a ping that it was not sent');
  }

  private welcome(welcome: Welcome): void {
    if (this.stub !== null) return;
    this.welcomeTimeout.cancel();
    const { instance } = this.options;
    const { instance: named = '' } = welcome.description;
    if (instance !== '' && named !== instance) throw new Error('is not the one that registered this address');
    const other = this.options.otherAddress(named);
    // Two connections would compete for its lease.
    if (other !== null) throw new Error(`is the one at ${other}, and is used there`);
    const { call, clock } = this;
    const { events, nowNs, time, heartbeatMs, silenceMs } = this.options;
    this.stub = new MachineStub(welcome, { clock, nowNs, write: (message) => call.write(message) });
    events.met(this.stub.description);
    this.heartbeat = new Heartbeat({
      everyMs: heartbeatMs,
      silenceMs,
      clock,
      nowNs,
      time,
      ping: (sentNs) => call.write({ body: 'ping', sentNs }),
      synchronised: () => {
        this.isSynchronised = true;
        this.begin();
      },
      silent: () => this.giveUp(`has said nothing for ${silenceMs} ms`),
    });
  }

  private lease(lease: LeaseState): void {
    // It names the same controller as long as another stream of ours seems to exist.
    this.drives = this.hasAsked && lease.controller === this.options.controller;
    this.options.lease(lease);
    this.begin();
  }

  /** Starts to send orders once it has the lease and knows the worker's clock. */
  private begin(): void {
    const { stub: machine, clock } = this;
    if (!this.drives || !this.isSynchronised || machine === null || this.machineLink !== null) return;
    const { events, nowNs, time, log } = this.options;
    this.machineLink = new MachineLink({ machine, clock, events, nowNs, time, log });
    this.machineLink.start();
  }

  private giveUp(complaint: string): void {
    this.call.cancel(`the worker ${complaint}`);
  }

  private callEnded(reason: string): void {
    this.stop();
    const wasUp = this.machineLink?.lost(reason) ?? false;
    this.options.ended(reason, wasUp);
  }

  private stop(): void {
    this.welcomeTimeout.cancel();
    this.heartbeat?.stop();
  }
}

/** Time for a connection, with encryption, and the first answer. */
const WELCOME_TIMEOUT_MS = 5000;
