import type { Timer } from '../../../base/world/time.js';
import type { ActionMessage, ModelReference } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import type { ClientTls } from '../../wire/credentials.js';
import { descriptionFromWire } from '../../wire/from-wire.js';
import { helloToHeaders } from '../../wire/hello.js';
import {
  type ControllerMessage,
  type LeaseState,
  type Welcome,
  type WireOperators,
  WORKER_MESSAGES,
  WORKER_SERVICE,
  type WorkerMessage,
} from '../../wire/protocol.js';
import { StreamCall } from '../../wire/stream-call.js';
import type { World } from '../../world/world.js';
import { ClockSync } from './clock-sync.js';
import { checkDescription } from './description-check.js';
import { Heartbeat } from './heartbeat.js';
import { MachineLink } from './machine-link.js';
import { MachineStub } from './machine-stub.js';
import { type WorkerEvents, WorkerGone } from './worker-link.js';

/** Parts of the world that links use. */
export type LinkWorld = Pick<World, 'time' | 'network'>;

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
  readonly world: LinkWorld;
  readonly log: (line: string) => void;
  /** Returns the address at which this controller already has the process (empty: unnamed); null: none. */
  readonly otherAddress: (instance: string) => string | null;
  /** Reports the worker's current lease. */
  readonly lease: (lease: LeaseState) => void;
  /** Reports a round trip added to the estimate of the worker's clock. */
  readonly timed: (clock: ClockSync) => void;
  /** Reports the end; `events` was notified if the worker was up. Not called after `close`. */
  readonly ended: (reason: string, wasUp: boolean) => void;
}

/** One stream with a worker, from its headers to its end. */
export class StreamLink {
  private readonly clock = new ClockSync();
  private readonly options: StreamLinkOptions;
  private readonly call: StreamCall<ControllerMessage, WorkerMessage>;
  private readonly welcomeTimeout: Timer;
  private heartbeat: Heartbeat | null = null;
  private machine: MachineStub | null = null;
  private machineLink: MachineLink | null = null;
  private isSynchronised = false;
  /** True if it was asked for the lease, and so may have granted it. */
  private hasAsked = false;
  private drives = false;

  constructor(options: StreamLinkOptions) {
    this.options = options;
    const { address, tls, token, controller, maxMessageBytes, world } = options;
    this.call = new StreamCall({
      ...{ time: world.time, network: world.network },
      address,
      tls,
      peer: 'worker',
      method: WORKER_SERVICE.Drive,
      headers: helloToHeaders({ token, controller, maxMessageBytes }),
      maxMessageBytes,
      decode: (bytes) => WORKER_MESSAGES.decode(bytes),
      receive: (message) => this.receive(message),
      ended: (reason) => this.callEnded(reason),
    });
    this.welcomeTimeout = world.time.after(WELCOME_TIMEOUT_MS, () =>
      this.giveUp(`has said nothing for ${WELCOME_TIMEOUT_MS} ms`),
    );
  }

  /** Asks for the worker's lease: it comes up once it is granted. */
  take(term: number): void {
    this.hasAsked = true;
    this.call.write({ body: 'take', take: { term } });
  }

  send(actions: readonly ActionMessage[]): void {
    this.machineLink?.send(actions);
  }

  async listModels(name: string | null): Promise<ModelList> {
    if (this.machineLink === null) throw new WorkerGone();
    return this.machineLink.listModels(name);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    if (this.machineLink === null) throw new WorkerGone();
    return this.machineLink.addModel(index, reference);
  }

  async dropModel(index: number): Promise<void> {
    await this.machineLink?.dropModel(index);
  }

  restart(reason: string, gpu: number | null): void {
    this.machineLink?.restart(reason, gpu);
  }

  startRecording(): void {
    this.machineLink?.startRecording();
  }

  async stopRecording(): Promise<OperatorRuns> {
    return this.machineLink?.stopRecording() ?? NO_OPERATORS;
  }

  /** Breaks off without notifying the worker. */
  cancel(reason: string): void {
    this.call.cancel(reason);
  }

  async close(): Promise<void> {
    this.stop();
    this.machineLink?.end();
    await this.call.close({ body: 'bye', bye: {} }, BYE_TIMEOUT_MS);
  }

  private receive(message: WorkerMessage): void {
    this.heartbeat?.heard();
    switch (message.body) {
      case 'welcome':
        this.welcome(message.welcome);
        break;
      case 'lease':
        this.lease(message.lease);
        break;
      case 'state':
        this.machine?.receiveState(message.state);
        break;
      case 'results':
        this.machine?.receiveResults(message.results.results);
        break;
      case 'pong':
        if (this.heartbeat?.pong(message.pong.sentNs, message.pong.workerNs) === false)
          this.giveUp('answers a ping that it was not sent');
        else this.options.timed(this.clock);
        break;
      case 'gpuDown':
        this.machine?.receiveGpuDown(message.gpuDown.gpu, message.gpuDown.reason);
        break;
      case 'operators':
        this.operators(message.operators);
        break;
      case 'recordingEnd':
        this.machine?.receiveRecordingEnd(message.recordingEnd);
        break;
      case 'modelList':
        this.machine?.receiveModelList(message.modelList);
        break;
      case 'modelChanged':
        this.machine?.receiveModelChanged(message.modelChanged);
        break;
    }
  }

  private welcome(welcome: Welcome): void {
    if (this.machine !== null) return;
    this.welcomeTimeout.cancel();
    const { instance } = this.options;
    if (instance !== '' && welcome.instance !== instance) {
      this.giveUp('is not the one that registered this address');
      return;
    }
    const other = this.options.otherAddress(welcome.instance);
    if (other !== null) {
      // Two connections would compete for its lease.
      this.giveUp(`is the one at ${other}, and is used there`);
      return;
    }
    const { call, clock } = this;
    const { events, nowNs, world, heartbeatMs, silenceMs } = this.options;
    let machine: MachineStub;
    try {
      const description = descriptionFromWire(welcome);
      checkDescription(description);
      machine = new MachineStub(description, welcome.maxMessageBytes, (message) => call.write(message));
    } catch (error) {
      this.giveUp(`describes itself in a way that is not understood: ${(error as Error).message}`);
      return;
    }
    this.machine = machine;
    events.met(machine.description);
    this.heartbeat = new Heartbeat({
      everyMs: heartbeatMs,
      silenceMs,
      clock,
      nowNs,
      time: world.time,
      ping: (sentNs) => call.write({ body: 'ping', ping: { sentNs } }),
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
    const { machine, clock } = this;
    if (!this.drives || !this.isSynchronised || machine === null || this.machineLink !== null) return;
    const { events, nowNs, world, log } = this.options;
    const distrust = (complaint: string) => this.giveUp(complaint);
    this.machineLink = new MachineLink({ machine, clock, events, nowNs, time: world.time, log, distrust });
    this.machineLink.start();
  }

  private operators(operators: WireOperators): void {
    try {
      this.machine?.receiveOperators(operators);
    } catch (error) {
      this.giveUp(`is not understood: ${(error as Error).message}`);
    }
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
const BYE_TIMEOUT_MS = 1000;
