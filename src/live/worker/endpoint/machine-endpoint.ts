import { status } from '@grpc/grpc-js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { ActionMessage, ResultMessage, WorkerState } from '../../messages.js';
import { copied } from '../../transfer.js';
import { chunk, ENVELOPE_BYTES, withinLimit } from '../../wire/chunks.js';
import { type Numbered, Numbering } from '../../wire/framing.js';
import type { AcceptedStream } from '../../wire/network.js';
import {
  type Answer,
  CONTROLLER_MESSAGES,
  type ControllerMessage,
  type LeaseState,
  modelListToWire,
  outranks,
  type Question,
  WORKER_SHUTS_DOWN,
  type WorkerMessage,
} from '../../wire/protocol.js';
import type { Machine, MachineEvents } from '../machine.js';
import { actionProblem } from './check-actions.js';
import { type KeptMemory, KeptTensors } from './kept-tensors.js';

/** A controller's stream, which may drive a machine. */
export interface Driver extends MachineEvents {
  readonly controller: string;
  /** Another controller drives the machine now. */
  deposed(): void;
  /** The leader lease has changed hands. */
  leaseChanged(state: LeaseState): void;
}

/** A machine driven by the one of the connected controllers that has its leader lease: only that gets its events. */
export class MachineEndpoint {
  private readonly candidates = new Set<Driver>();
  private driver: Driver | null = null;
  private term = 0;
  private yields = false;
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  get lease(): LeaseState {
    const { term, driver, yields } = this;
    return { term, controller: driver?.controller ?? '', ...(yields ? { yields } : {}) };
  }

  isDriver(candidate: Driver): boolean {
    return this.driver === candidate;
  }

  enter(candidate: Driver): void {
    this.candidates.add(candidate);
  }

  /** Lets the driver go on until another asks for the lease. */
  yield(candidate: Driver): void {
    if (this.driver !== candidate) return;
    this.yields = true;
    this.announce();
  }

  /** True if it drives the machine from now on. */
  take(candidate: Driver, term: number): boolean {
    const { driver, yields } = this;
    if (driver === candidate) return true;
    const isFree = driver === null || yields;
    if (!isFree && !mayReplace({ term, controller: candidate.controller }, this.lease)) return false;
    this.driver = candidate;
    this.yields = false;
    this.term = term;
    driver?.deposed();
    this.announce();
    // Answers to calls of an earlier driver are not for this one.
    this.machine.attach(NO_DRIVER);
    return true;
  }

  leave(candidate: Driver): void {
    this.candidates.delete(candidate);
    if (this.driver !== candidate) return;
    this.driver = null;
    this.yields = false;
    this.announce();
  }

  /** Makes the machine idle for its driver, after all earlier calls, including those of another driver. */
  quiesce(driver: Driver): Promise<WorkerState> {
    const quiesced = this.quiescing.then(async () => {
      const state = await this.machine.quiesce();
      if (this.isDriver(driver)) this.machine.attach(driver);
      return state;
    });
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }

  private announce(): void {
    const { lease } = this;
    for (const candidate of [...this.candidates]) candidate.leaseChanged(lease);
  }
}

const NO_DRIVER: MachineEvents = { results: () => {}, gpuDown: () => {} };

/** True if a controller replaces its own connection, which broke silently. */
function mayReplace(one: LeaseState, driver: LeaseState): boolean {
  return one.controller === driver.controller || outranks(one, driver);
}

export type ControllerCall = AcceptedStream<Numbered<WorkerMessage>>;

interface StreamEndpointOptions {
  readonly time: Time;
  readonly call: ControllerCall;
  /** Address of the controller. */
  readonly peer: string;
  readonly endpoint: MachineEndpoint;
  /** Name of this process. */
  readonly instance: string;
  /** Name of the controller. */
  readonly controller: string;
  /** Silence after which a controller is considered gone. */
  readonly silenceMs: number;
  /** Bytes received on its connection: a large message takes a while. */
  readonly bytesRead: () => number;
  /** Largest message accepted from the controller. */
  readonly maxMessageBytes: number;
  /** Largest message that the controller accepts. */
  readonly controllerMaxMessageBytes: number;
  readonly keptMemory: KeptMemory;
  readonly log: (line: string) => void;
  readonly ended: (stream: StreamEndpoint) => void;
}

/** The worker's end of an accepted stream; decides which messages of the controller are allowed when. */
export class StreamEndpoint implements Driver {
  private readonly options: StreamEndpointOptions;
  /** Number of times that it was to be idle so far, and whether it was since the last: actions are accepted only then. */
  private quiesces = 0;
  private idle = false;
  private over = false;
  private readonly watch: Timer;
  private silentIntervals = 0;
  private bytesRead = 0;
  private drives = false;
  private readonly sent = new Numbering();
  private readonly received = new Numbering();
  private readonly kept: KeptTensors;

  constructor(options: StreamEndpointOptions) {
    this.options = options;
    const { call, time, silenceMs, maxMessageBytes, instance, keptMemory } = options;
    this.kept = new KeptTensors(keptMemory, options.controllerMaxMessageBytes - ENVELOPE_BYTES);
    // Counts silent intervals, not time: a worker that was itself suspended first reads what has arrived.
    this.watch = time.every(silenceMs / SILENT_INTERVALS, () => this.tick());
    call.on('data', (bytes) => this.read(bytes));
    // Without a handler, an error of the stream would end the process.
    call.on('error', (error) => this.lost(error.message));
    call.on('cancelled', () => this.lost('has broken off'));
    call.on('end', () => this.hangUp());
    const { endpoint } = options;
    const { machine } = endpoint;
    const description = { ...machine.description, ...(instance === '' ? {} : { instance }) };
    this.send({ body: 'welcome', description, maxMessageBytes });
    endpoint.enter(this);
    this.leaseChanged(endpoint.lease);
  }

  get controller(): string {
    return this.options.controller;
  }

  leaseChanged(lease: LeaseState): void {
    this.send({ body: 'lease', ...lease });
  }

  results(results: readonly ResultMessage[]): void {
    const { controllerMaxMessageBytes } = this.options;
    const sendable = results.map((result) => withinLimit(this.kept.end(result), controllerMaxMessageBytes));
    for (const part of chunk(sendable, ({ outputs }) => outputs))
      this.send({ body: 'results', results: part });
  }

  gpuDown(gpu: number, reason: string): void {
    this.send({ body: 'gpuDown', gpu, reason });
  }

  deposed(): void {
    this.end(status.ABORTED, 'another controller has taken over this worker');
  }

  /** Ends the stream; the reason is for people. */
  end(code: number, reason: string): void {
    if (this.over) return;
    this.finish(reason);
    this.options.call.emit('error', { code, details: reason });
  }

  /** Finishes and reports running actions, drops the rest, then ends the stream. */
  async drain(): Promise<void> {
    const { endpoint } = this.options;
    this.idle = false;
    this.quiesces++;
    if (this.drives) await endpoint.quiesce(this).catch(() => {});
    this.end(status.UNAVAILABLE, WORKER_SHUTS_DOWN);
  }

  private read(bytes: Buffer): void {
    if (this.over) return;
    let message: ControllerMessage;
    try {
      message = this.received.check(CONTROLLER_MESSAGES.decode(bytes));
    } catch (error) {
      this.end(status.DATA_LOSS, `a message of the controller ${(error as Error).message}`);
      return;
    }
    this.receive(message);
  }

  private receive(message: ControllerMessage): void {
    if (message.body === 'ping') this.pong(message.sentNs);
    else if (message.body === 'take') this.take(message.term);
    else if (message.body === 'bye') this.hangUp();
    else if (message.body === 'yield') this.options.endpoint.yield(this);
    else if (!this.drives) {
      const what = message.body === 'ask' ? message.question.what : message.body;
      this.end(status.INVALID_ARGUMENT, `${what} of a controller that does not drive this worker`);
    } else if (message.body === 'actions') this.actions(message.actions);
    else if (message.body === 'fetch') this.fetch(message.keys);
    else if (message.body === 'forget') this.kept.forget(message.keys);
    else void this.answer(message.id, message.question);
  }

  private pong(sentNs: number): void {
    this.send({ body: 'pong', sentNs, workerNs: this.options.time.monotonicNs() });
  }

  private async answer(id: number, question: Question): Promise<void> {
    try {
      this.send({ body: 'answer', id, value: await this.valueOf(question), error: '' });
    } catch (error) {
      this.send({ body: 'answer', id, value: null, error: (error as Error).message });
    }
  }

  private async valueOf(question: Question): Promise<Answer> {
    const { machine } = this.options.endpoint;
    switch (question.what) {
      case 'quiesce':
        return this.quiesce();
      case 'listModels':
        return modelListToWire(await machine.listModels(question.name, question.config));
      case 'changeModel':
        if (question.reference !== null) return machine.addModel(question.index, question.reference);
        await machine.dropModel(question.index);
        return null;
    }
  }

  private take(term: number): void {
    const { endpoint } = this.options;
    if (this.drives || !endpoint.take(this, term)) this.leaseChanged(endpoint.lease);
    else {
      this.drives = true;
      this.log('drives this worker');
    }
  }

  private tick(): void {
    const bytesRead = this.options.bytesRead();
    this.silentIntervals = bytesRead === this.bytesRead ? this.silentIntervals + 1 : 0;
    this.bytesRead = bytesRead;
    if (this.silentIntervals <= SILENT_INTERVALS) return;
    this.end(status.ABORTED, `the controller has said nothing for ${this.options.silenceMs} ms`);
  }

  private async quiesce(): Promise<WorkerState> {
    const quiesces = ++this.quiesces;
    this.idle = false;
    this.kept.dropActions();
    const state = await this.options.endpoint.quiesce(this);
    if (quiesces === this.quiesces) this.idle = true;
    return state;
  }

  private actions(actions: readonly ActionMessage[]): void {
    const { machine } = this.options.endpoint;
    if (!this.idle) return;
    const whole = actions.map((action) => this.kept.begin(action));
    for (const action of whole) {
      const problem = actionProblem(action, machine);
      if (problem !== '') {
        this.end(status.INVALID_ARGUMENT, problem);
        return;
      }
    }
    // What was decoded is parts of one message.
    machine.submit(whole.map((action) => ({ ...action, inputs: copied(action.inputs) })));
  }

  private fetch(keys: readonly number[]): void {
    const results = keys.map((key) => ({ key, outputs: [this.kept.get(key) ?? []].flat() }));
    for (const part of chunk(results, ({ outputs }) => outputs))
      this.send({ body: 'fetched', results: part });
  }

  private send(message: WorkerMessage): void {
    if (!this.over) this.options.call.write(this.sent.number(message));
  }

  /** Call after the controller's last message. */
  private hangUp(): void {
    if (this.over) return;
    this.finish('has left');
    this.options.call.end();
  }

  private lost(why: string): void {
    if (!this.over) this.finish(why);
  }

  private finish(why: string): void {
    this.over = true;
    this.watch.cancel();
    this.kept.clear();
    const { endpoint } = this.options;
    if (this.drives) this.log(why);
    endpoint.leave(this);
    this.options.ended(this);
  }

  private log(what: string): void {
    this.options.log(`controller ${this.options.peer}: ${what}`);
  }
}

/** Pings of a controller per second. */
const SILENT_INTERVALS = 5;
