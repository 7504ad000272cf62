import { status } from '@grpc/grpc-js';
import type { ActionMessage } from '../messages.js';
import { NO_OPERATORS, type OperatorProfile } from '../profiler/operator-profile.js';
import type { WorkerEvents } from '../worker-link.js';
import { ClockSync } from './clock-sync.js';
import type { ClientTls } from './credentials.js';
import { descriptionFromWire } from './from-wire.js';
import { Heartbeat } from './heartbeat.js';
import { MachineSession } from './machine-session.js';
import { PROTOCOL_VERSION, type Welcome, type WireOperators, type WorkerMessage } from './protocol.js';
import { RemoteMachine } from './remote-machine.js';
import { WorkerStream } from './worker-stream.js';

export interface WorkerConnectionOptions {
  /** HOST:PORT. */
  readonly address: string;
  readonly token: string;
  readonly tls: ClientTls | undefined;
  readonly maxMessageBytes: number;
  readonly heartbeatMs: number;
  readonly silenceMs: number;
  /** See Hello in worker.proto. */
  readonly takeOver: boolean;
  readonly events: WorkerEvents;
  readonly nowNs: () => number;
  readonly log: (line: string) => void;
  /** It is over; `events` was told. Not called after `close`. */
  readonly ended: (code: number, reason: string) => void;
}

/** One stream with a worker, from Hello to whatever ends it. */
export class WorkerConnection {
  readonly clock = new ClockSync();
  private readonly options: WorkerConnectionOptions;
  private readonly stream: WorkerStream;
  private readonly welcomeTimeout: NodeJS.Timeout;
  private heartbeat: Heartbeat | null = null;
  private machine: RemoteMachine | null = null;
  private session: MachineSession | null = null;

  constructor(options: WorkerConnectionOptions) {
    this.options = options;
    const { address, tls, token, takeOver, maxMessageBytes } = options;
    this.stream = new WorkerStream({
      address,
      tls,
      maxMessageBytes,
      receive: (message) => this.receive(message),
      ended: (code, reason) => this.streamEnded(code, reason),
    });
    const hello = { version: PROTOCOL_VERSION, token, takeOver, maxMessageBytes };
    this.stream.write({ body: 'hello', hello });
    this.welcomeTimeout = setTimeout(() => this.giveUp('does not answer'), WELCOME_TIMEOUT_MS);
  }

  send(actions: readonly ActionMessage[]): void {
    this.session?.send(actions);
  }

  restart(reason: string): void {
    this.session?.restart(reason);
  }

  startProfile(): void {
    this.session?.startProfile();
  }

  async stopProfile(): Promise<OperatorProfile> {
    return this.session?.stopProfile() ?? NO_OPERATORS;
  }

  async close(): Promise<void> {
    this.stop();
    this.session?.end();
    await this.stream.close({ body: 'bye', bye: {} }, BYE_TIMEOUT_MS);
  }

  private receive(message: WorkerMessage): void {
    this.heartbeat?.heard();
    switch (message.body) {
      case 'welcome':
        this.welcome(message.welcome);
        break;
      case 'state':
        this.machine?.receiveState(message.state);
        break;
      case 'results':
        this.machine?.receiveResults(message.results.results);
        break;
      case 'pong':
        this.heartbeat?.pong(message.pong.sentNs, message.pong.workerNs);
        break;
      case 'gpuDown':
        this.machine?.receiveGpuDown(message.gpuDown.gpu, message.gpuDown.reason);
        break;
      case 'operators':
        this.operators(message.operators);
        break;
      case 'profileEnd':
        this.machine?.receiveProfileEnd(message.profileEnd);
        break;
    }
  }

  private welcome(welcome: Welcome): void {
    if (this.machine !== null) return;
    clearTimeout(this.welcomeTimeout);
    const { stream, clock } = this;
    const { events, nowNs, log, heartbeatMs, silenceMs } = this.options;
    let machine: RemoteMachine;
    try {
      const description = descriptionFromWire(welcome);
      machine = new RemoteMachine(description, welcome.maxMessageBytes, (message) => stream.write(message));
    } catch (error) {
      this.giveUp(`describes itself in a way that is not understood: ${(error as Error).message}`);
      return;
    }
    this.machine = machine;
    this.heartbeat = new Heartbeat({
      everyMs: heartbeatMs,
      silenceMs,
      clock,
      nowNs,
      ping: (sentNs) => stream.write({ body: 'ping', ping: { sentNs } }),
      synchronised: () => {
        this.session = new MachineSession({ machine, clock, events, nowNs, log });
        this.session.start();
      },
      silent: () => this.giveUp(`has said nothing for ${silenceMs} ms`),
    });
  }

  private operators(operators: WireOperators): void {
    try {
      this.machine?.receiveOperators(operators);
    } catch (error) {
      this.giveUp(`is not understood: ${(error as Error).message}`);
    }
  }

  private giveUp(complaint: string): void {
    this.stream.cancel(status.UNAVAILABLE, `the worker ${complaint}`);
  }

  private streamEnded(code: number, reason: string): void {
    this.stop();
    this.session?.lost(reason);
    this.options.ended(code, reason);
  }

  private stop(): void {
    clearTimeout(this.welcomeTimeout);
    this.heartbeat?.stop();
  }
}

/** Time for a connection, with encryption, and the first answer. */
const WELCOME_TIMEOUT_MS = 5000;
const BYE_TIMEOUT_MS = 1000;
