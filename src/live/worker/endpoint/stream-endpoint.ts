import { status } from '@grpc/grpc-js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { ResultMessage } from '../../messages.js';
import { chunk, tensorBytes } from '../../wire/chunks.js';
import { actionFromWire } from '../../wire/from-wire.js';
import type { AcceptedStream } from '../../wire/network.js';
import { type Numbered, Numbering } from '../../wire/numbering.js';
import { operatorsToWire } from '../../wire/operator-chunks.js';
import {
  CONTROLLER_MESSAGES,
  type ControllerMessage,
  type LeaseState,
  type WireAction,
  type WireListModels,
  type WireModelChange,
  WORKER_SHUTS_DOWN,
  type WorkerMessage,
} from '../../wire/protocol.js';
import {
  descriptionToWire,
  modelListToWire,
  modelToWire,
  resultToWire,
  stateToWire,
  withinLimit,
} from '../../wire/to-wire.js';
import { actionProblem } from './check-actions.js';
import type { Driver, MachineEndpoint } from './machine-endpoint.js';

export type ControllerCall = AcceptedStream<Numbered<WorkerMessage>>;

interface StreamEndpointOptions {
  readonly time: Time;
  readonly call: ControllerCall;
  /** Address of the controller. */
  readonly peer: string;
  readonly endpoint: MachineEndpoint;
  /** Name of this process; see registration.proto. */
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
  readonly log: (line: string) => void;
  readonly ended: (stream: StreamEndpoint) => void;
}

/** The worker's end of an accepted stream: what the controller may do, and when (worker.proto). */
export class StreamEndpoint implements Driver {
  private readonly options: StreamEndpointOptions;
  /** Number of the latest Quiesce, and whether it was answered: actions are accepted only then. */
  private quiesceNumber = 0;
  private idle = false;
  private over = false;
  private recording = false;
  private readonly watch: Timer;
  private silentIntervals = 0;
  private bytesRead = 0;
  private drives = false;
  private readonly sent = new Numbering();
  private readonly received = new Numbering();

  constructor(options: StreamEndpointOptions) {
    this.options = options;
    const { call, time, silenceMs, maxMessageBytes, instance } = options;
    // Counts silent intervals, not time: a worker that was itself suspended first reads what has arrived.
    this.watch = time.every(silenceMs / SILENT_INTERVALS, () => this.tick());
    call.on('data', (bytes) => this.read(bytes));
    // Without a handler, an error of the stream would end the process.
    call.on('error', (error) => this.lost(error.message));
    call.on('cancelled', () => this.lost('has broken off'));
    call.on('end', () => this.hangUp());
    const { machine, lease } = options.endpoint;
    const welcome = descriptionToWire(machine.description, maxMessageBytes, instance);
    this.send({ body: 'welcome', welcome });
    lease.enter(this);
    this.leaseChanged(lease.state);
  }

  get controller(): string {
    return this.options.controller;
  }

  leaseChanged(lease: LeaseState): void {
    this.send({ body: 'lease', lease });
  }

  results(results: readonly ResultMessage[]): void {
    const sendable = results.map((result) => withinLimit(result, this.options.controllerMaxMessageBytes));
    for (const part of chunk(sendable, ({ outputs }) => tensorBytes(outputs)))
      this.send({ body: 'results', results: { results: part.map(resultToWire) } });
  }

  gpuDown(gpu: number, reason: string): void {
    this.send({ body: 'gpuDown', gpuDown: { gpu, reason } });
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
    if (message.body === 'ping') this.pong(message.ping.sentNs);
    else if (message.body === 'take') this.take(message.take.term);
    else if (message.body === 'bye') this.hangUp();
    else if (this.drives) this.obey(message);
    else this.end(status.INVALID_ARGUMENT, `${message.body} of a controller that does not drive this worker`);
  }

  private pong(sentNs: number): void {
    this.send({ body: 'pong', pong: { sentNs, workerNs: this.options.time.monotonicNs() } });
  }

  /** Executes orders of the driver. */
  private obey(message: ControllerMessage): void {
    if (message.body === 'actions') this.actions(message.actions.actions);
    else if (message.body === 'quiesce') this.quiesce(message.quiesce.number);
    else if (message.body === 'startRecording') this.startRecording();
    else if (message.body === 'stopRecording') void this.stopRecording(message.stopRecording.number);
    else if (message.body === 'listModels') void this.listModels(message.listModels);
    else if (message.body === 'modelChange') void this.changeModel(message.modelChange);
  }

  private take(term: number): void {
    const { endpoint } = this.options;
    if (term < 1) this.end(status.INVALID_ARGUMENT, `invalid term ${term}`);
    else if (this.drives || !endpoint.take(this, term)) this.leaseChanged(endpoint.lease.state);
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

  private quiesce(number: number): void {
    this.quiesceNumber = number;
    this.idle = false;
    this.options.endpoint.quiesce(this).then(
      (state) => {
        if (this.over || number !== this.quiesceNumber) return;
        this.idle = true;
        this.send({ body: 'state', state: stateToWire(number, state) });
      },
      (error: Error) => this.end(status.INTERNAL, `the worker cannot be made idle: ${error.message}`),
    );
  }

  private actions(actions: readonly WireAction[]): void {
    const { machine } = this.options.endpoint;
    if (!this.idle) return;
    for (const action of actions) {
      const problem = actionProblem(action, machine);
      if (problem !== '') {
        this.end(status.INVALID_ARGUMENT, problem);
        return;
      }
    }
    machine.submit(actions.map(actionFromWire));
  }

  private async listModels({ number, name }: WireListModels): Promise<void> {
    try {
      const list = await this.options.endpoint.machine.listModels(name ?? null);
      this.send({ body: 'modelList', modelList: modelListToWire(number, list) });
    } catch (error) {
      const nothing = { versions: [], problems: [], skipped: [], notes: [] };
      this.send({ body: 'modelList', modelList: { number, error: (error as Error).message, ...nothing } });
    }
  }

  private async changeModel({ number, index, reference }: WireModelChange): Promise<void> {
    const { machine } = this.options.endpoint;
    if (index < 0 || index >= MOST_MODELS) {
      this.end(status.INVALID_ARGUMENT, `no model can be at index ${index}`);
      return;
    }
    try {
      if (reference === undefined || reference === null) {
        await machine.dropModel(index);
        this.send({ body: 'modelChanged', modelChanged: { number, error: '' } });
        return;
      }
      const model = modelToWire(await machine.addModel(index, reference));
      this.send({ body: 'modelChanged', modelChanged: { number, error: '', model } });
    } catch (error) {
      this.send({ body: 'modelChanged', modelChanged: { number, error: (error as Error).message } });
    }
  }

  private startRecording(): void {
    this.recording = true;
    this.options.endpoint.machine.startRecording();
  }

  private async stopRecording(number: number): Promise<void> {
    this.recording = false;
    try {
      const { operators, dropped } = await this.options.endpoint.machine.stopRecording();
      for (const part of operatorsToWire(number, operators)) {
        this.send({ body: 'operators', operators: part });
        // Results are sent in between.
        await new Promise<void>((resolve) => this.options.time.soon(resolve));
      }
      this.send({ body: 'recordingEnd', recordingEnd: { number, dropped, error: '' } });
    } catch (error) {
      this.send({
        body: 'recordingEnd',
        recordingEnd: { number, dropped: 0, error: (error as Error).message },
      });
    }
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
    const { machine, lease } = this.options.endpoint;
    if (this.drives) this.log(why);
    // No client will ask for it.
    if (this.recording) machine.stopRecording().catch(() => {});
    lease.leave(this);
    this.options.ended(this);
  }

  private log(what: string): void {
    this.options.log(`controller ${this.options.peer}: ${what}`);
  }
}

/** Pings of a controller per second. */
const SILENT_INTERVALS = 5;
/** Limit on indices: lists are as long as the largest. */
const MOST_MODELS = 100_000;
