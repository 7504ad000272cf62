import { setImmediate } from 'node:timers/promises';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { monotonicNs } from '../clock.js';
import type { ResultMessage } from '../messages.js';
import { actionProblem } from './check-actions.js';
import { chunk, tensorBytes } from './chunks.js';
import { tokensMatch } from './credentials.js';
import type { Driver, DriverSeat } from './driver-seat.js';
import { actionFromWire } from './from-wire.js';
import { operatorsToWire } from './operator-chunks.js';
import {
  type ControllerMessage,
  type Hello,
  PROTOCOL_VERSION,
  type WireAction,
  type WorkerMessage,
} from './protocol.js';
import { descriptionToWire, stateToWire, withinLimit } from './to-wire.js';

export type ControllerCall = ServerDuplexStream<ControllerMessage, WorkerMessage>;

export interface ControllerSessionOptions {
  readonly call: ControllerCall;
  readonly seat: DriverSeat;
  /** Empty: none is asked for. */
  readonly token: string;
  readonly maxMessageBytes: number;
  readonly log: (line: string) => void;
  readonly ended: (session: ControllerSession) => void;
}

/** The worker's end of one stream: what a controller that connected may do, and when (worker.proto). */
export class ControllerSession implements Driver {
  private readonly options: ControllerSessionOptions;
  private readonly helloTimeout: NodeJS.Timeout;
  private accepted = false;
  /** Number of the latest Quiesce, and whether it was answered: only then are actions taken. */
  private quiesceNumber = 0;
  private idle = false;
  private over = false;
  private recording = false;
  /** Largest message that the controller takes. */
  private mostBytes = 0;

  constructor(options: ControllerSessionOptions) {
    this.options = options;
    const { call } = options;
    call.on('data', (message: ControllerMessage) => this.receive(message));
    // Without a handler an error of the stream would end the process.
    call.on('error', (error: Error) => this.lost(error.message));
    call.on('cancelled', () => this.lost('has broken off'));
    call.on('end', () => this.hangUp());
    this.helloTimeout = setTimeout(
      () => this.end(status.FAILED_PRECONDITION, 'no Hello came'),
      HELLO_TIMEOUT_MS,
    );
  }

  results(results: readonly ResultMessage[]): void {
    const sendable = results.map((result) => withinLimit(result, this.mostBytes));
    for (const part of chunk(sendable, ({ outputs }) => tensorBytes(outputs)))
      this.send({ body: 'results', results: { results: part } });
  }

  gpuDown(gpu: number, reason: string): void {
    this.send({ body: 'gpuDown', gpuDown: { gpu, reason } });
  }

  deposed(): void {
    this.end(status.ABORTED, 'another controller has taken this worker over');
  }

  /** Ends the stream; the reason is for people. */
  end(code: number, reason: string): void {
    if (this.over) return;
    this.finish(reason);
    this.options.call.emit('error', { code, details: reason });
  }

  /** Finishes what runs and reports it, drops the rest, then ends the stream. */
  async drain(): Promise<void> {
    this.idle = false;
    if (this.accepted) await this.options.seat.quiesce().catch(() => {});
    this.end(status.UNAVAILABLE, 'the worker shuts down');
  }

  private receive(message: ControllerMessage): void {
    if (this.over) return;
    if (message.body === 'hello') this.hello(message.hello);
    else if (!this.accepted) this.end(status.FAILED_PRECONDITION, 'the first message must be Hello');
    else if (message.body === 'actions') this.actions(message.actions.actions);
    else if (message.body === 'ping')
      this.send({ body: 'pong', pong: { sentNs: message.ping.sentNs, workerNs: monotonicNs() } });
    else if (message.body === 'quiesce') this.quiesce(message.quiesce.number);
    else if (message.body === 'startProfile') this.startProfile();
    else if (message.body === 'stopProfile') void this.stopProfile(message.stopProfile.number);
    else if (message.body === 'bye') this.hangUp();
  }

  private hello({ version, token, takeOver, maxMessageBytes }: Hello): void {
    const { seat } = this.options;
    clearTimeout(this.helloTimeout);
    if (version !== PROTOCOL_VERSION) this.end(status.FAILED_PRECONDITION, otherVersion(version));
    else if (this.options.token !== '' && !tokensMatch(token, this.options.token))
      this.end(status.UNAUTHENTICATED, 'the token is not the one that this worker asks for');
    else if (seat.taken && !takeOver) this.end(status.ABORTED, 'another controller drives this worker');
    else if (!this.accepted) {
      this.accepted = true;
      this.mostBytes = maxMessageBytes;
      seat.take(this);
      this.log('drives this worker');
      const welcome = descriptionToWire(seat.machine.description, this.options.maxMessageBytes);
      this.send({ body: 'welcome', welcome });
    }
  }

  private quiesce(number: number): void {
    this.quiesceNumber = number;
    this.idle = false;
    this.options.seat.quiesce().then(
      (state) => {
        if (this.over || number !== this.quiesceNumber) return;
        this.idle = true;
        this.send({ body: 'state', state: stateToWire(number, state) });
      },
      (error: Error) => this.end(status.INTERNAL, `the worker cannot be made idle: ${error.message}`),
    );
  }

  private actions(actions: readonly WireAction[]): void {
    const { machine } = this.options.seat;
    if (!this.idle) return;
    for (const action of actions) {
      const problem = actionProblem(action, machine.description);
      if (problem !== '') {
        this.end(status.INVALID_ARGUMENT, problem);
        return;
      }
    }
    machine.submit(actions.map(actionFromWire));
  }

  private startProfile(): void {
    this.recording = true;
    this.options.seat.machine.startProfile();
  }

  private async stopProfile(number: number): Promise<void> {
    this.recording = false;
    try {
      const { operators, dropped } = await this.options.seat.machine.stopProfile();
      for (const part of operatorsToWire(number, operators)) {
        this.send({ body: 'operators', operators: part });
        // Results go in between.
        await setImmediate();
      }
      this.send({ body: 'profileEnd', profileEnd: { number, dropped, error: '' } });
    } catch (error) {
      this.send({ body: 'profileEnd', profileEnd: { number, dropped: 0, error: (error as Error).message } });
    }
  }

  private send(message: WorkerMessage): void {
    if (!this.over) this.options.call.write(message);
  }

  /** The controller has said its last word. */
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
    clearTimeout(this.helloTimeout);
    this.log(why);
    // Nobody will ask for it.
    if (this.recording) this.options.seat.machine.stopProfile().catch(() => {});
    this.options.seat.leave(this);
    this.options.ended(this);
  }

  private log(what: string): void {
    this.options.log(`controller ${this.options.call.getPeer()}: ${what}`);
  }
}

const HELLO_TIMEOUT_MS = 5000;

function otherVersion(version: number): string {
  return `the controller speaks version ${version} of the protocol, this worker ${PROTOCOL_VERSION}: install the same escapement on both`;
}
