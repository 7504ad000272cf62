import { setImmediate } from 'node:timers/promises';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { monotonicNs } from '../../../base/clock/clock.js';
import type { ResultMessage } from '../../messages.js';
import { chunk, tensorBytes } from '../../wire/chunks.js';
import { tokensMatch } from '../../wire/credentials.js';
import { actionFromWire } from '../../wire/from-wire.js';
import { operatorsToWire } from '../../wire/operator-chunks.js';
import {
  type ControllerMessage,
  type Hello,
  PROTOCOL_VERSION,
  type WireAction,
  type WorkerMessage,
} from '../../wire/protocol.js';
import { descriptionToWire, resultToWire, stateToWire, withinLimit } from '../../wire/to-wire.js';
import { actionProblem } from './check-actions.js';
import type { Driver, MachineEndpoint } from './machine-endpoint.js';

export type ControllerCall = ServerDuplexStream<ControllerMessage, WorkerMessage>;

interface StreamEndpointOptions {
  readonly call: ControllerCall;
  readonly endpoint: MachineEndpoint;
  /** Empty: none is asked for. */
  readonly token: string;
  readonly maxMessageBytes: number;
  readonly log: (line: string) => void;
  readonly ended: (stream: StreamEndpoint) => void;
}

/** The worker's end of one stream: what a controller that connected may do, and when (worker.proto). */
export class StreamEndpoint implements Driver {
  private readonly options: StreamEndpointOptions;
  private readonly helloTimeout: NodeJS.Timeout;
  private accepted = false;
  /** Number of the latest Quiesce, and whether it was answered: only then are actions taken. */
  private quiesceNumber = 0;
  private idle = false;
  private over = false;
  private recording = false;
  /** Largest message that the controller takes. */
  private mostBytes = 0;

  constructor(options: StreamEndpointOptions) {
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
      this.send({ body: 'results', results: { results: part.map(resultToWire) } });
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
    if (this.accepted) await this.options.endpoint.quiesce().catch(() => {});
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
    else if (message.body === 'startRecording') this.startRecording();
    else if (message.body === 'stopRecording') void this.stopRecording(message.stopRecording.number);
    else if (message.body === 'bye') this.hangUp();
  }

  private hello({ version, token, takeOver, maxMessageBytes }: Hello): void {
    const { endpoint } = this.options;
    clearTimeout(this.helloTimeout);
    if (version !== PROTOCOL_VERSION) this.end(status.FAILED_PRECONDITION, otherVersion(version));
    else if (this.options.token !== '' && !tokensMatch(token, this.options.token))
      this.end(status.UNAUTHENTICATED, 'the token is not the one that this worker asks for');
    else if (endpoint.taken && !takeOver) this.end(status.ABORTED, 'another controller drives this worker');
    else if (!this.accepted) {
      this.accepted = true;
      this.mostBytes = maxMessageBytes;
      endpoint.take(this);
      this.log('drives this worker');
      const welcome = descriptionToWire(endpoint.machine.description, this.options.maxMessageBytes);
      this.send({ body: 'welcome', welcome });
    }
  }

  private quiesce(number: number): void {
    this.quiesceNumber = number;
    this.idle = false;
    this.options.endpoint.quiesce().then(
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
      const problem = actionProblem(action, machine.description);
      if (problem !== '') {
        this.end(status.INVALID_ARGUMENT, problem);
        return;
      }
    }
    machine.submit(actions.map(actionFromWire));
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
        // Results go in between.
        await setImmediate();
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
    // No client will ask for it.
    if (this.recording) this.options.endpoint.machine.stopRecording().catch(() => {});
    this.options.endpoint.leave(this);
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
