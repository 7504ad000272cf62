import type { Metadata } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { AcceptedStream, Dialed } from '../../../../src/live/wire/network.js';
import type { ThreadLoop } from '../thread-loop.js';
import type { CallStatus, Connection } from './connection.js';

/** A server's end of a stream: does what grpc-js's ServerDuplexStream does, in the same order. */
export class Accepted implements AcceptedStream<unknown> {
  private readonly listeners = new Listeners();
  /** It has said its status. */
  private isFinished = false;
  private hasEnded = false;
  private isBroken = false;

  constructor(
    private readonly connection: Connection,
    readonly metadata: Metadata,
    private readonly serialize: (message: never) => Buffer,
  ) {}

  getPeer(): string {
    return this.connection.peer;
  }

  on(event: string, heard: (value: never) => void): this {
    this.listeners.on(event, heard);
    return this;
  }

  write(message: unknown): void {
    if (!this.isFinished && !this.isBroken)
      this.connection.sendToClient(message, this.serialize(message as never));
  }

  end(): void {
    this.finish({ code: 0, details: 'OK' });
  }

  emit(_event: 'error', status: CallStatus): void {
    this.finish(status);
    this.listeners.emit('error', status);
  }

  /** The caller has sent something. */
  data(bytes: Buffer): void {
    if (!this.isFinished && !this.isBroken) this.listeners.emit('data', bytes);
  }

  /** The caller says no more. */
  ended(): void {
    if (this.hasEnded || this.isFinished || this.isBroken) return;
    this.hasEnded = true;
    this.listeners.emit('end');
  }

  /** The caller has cancelled, or the connection is gone; `isOrderly`: with a word. */
  broken(isOrderly: boolean): void {
    if (this.isBroken) return;
    if (isOrderly) this.ended();
    this.isBroken = true;
    if (!this.isFinished) this.listeners.emit('cancelled');
  }

  private finish(status: CallStatus): void {
    if (this.isFinished) return;
    this.isFinished = true;
    if (this.isBroken) return;
    this.connection.sendStatus(status);
    this.connection.server.owner.loop.receive(0, () => this.listeners.emit('cancelled'));
  }
}

type Heard = (value: never) => void;

/** What an EventEmitter does, as far as streams need it: calls those that listen, in their order. */
export class Listeners {
  private readonly byEvent = new Map<string, Heard[]>();

  on(event: string, heard: Heard): void {
    const list = this.byEvent.get(event);
    if (list === undefined) this.byEvent.set(event, [heard]);
    else list.push(heard);
  }

  once(event: string, heard: Heard): void {
    let isDone = false;
    this.on(event, ((value: never) => {
      if (isDone) return;
      isDone = true;
      heard(value);
    }) as Heard);
  }

  emit(event: string, value?: unknown): void {
    for (const heard of this.byEvent.get(event) ?? []) heard(value as never);
  }
}

type DialedStream = Dialed<unknown>['stream'];

/** A caller's end of a stream: does what grpc-js's ClientDuplexStream does, in the same order. */
export class DialedCall implements DialedStream {
  private readonly listeners = new Listeners();
  /** Null: not connected yet. */
  private connection: Connection | null = null;
  private early: unknown[] = [];
  private hasEnded = false;
  private isOver = false;

  constructor(private readonly loop: ThreadLoop) {}

  /** Its caller has no use for it any more, or has ended. */
  get isGone(): boolean {
    return this.isOver || this.loop.isOver;
  }

  connected(connection: Connection): void {
    this.connection = connection;
    for (const message of this.early.splice(0)) connection.sendToServer(message);
    if (this.hasEnded) connection.sendEnd();
  }

  /** Another that says the same so far, and that nothing listens to. */
  echo(): DialedCall {
    const echo = new DialedCall(this.loop);
    echo.early = [...this.early];
    echo.hasEnded = this.hasEnded;
    return echo;
  }

  on(event: string, heard: (value: never) => void): this {
    this.listeners.on(event, heard);
    return this;
  }

  once(event: string, heard: (value: never) => void): this {
    this.listeners.once(event, heard);
    return this;
  }

  write(message: unknown): void {
    if (this.hasEnded || this.isOver) return;
    if (this.connection === null) this.early.push(message);
    else this.connection.sendToServer(message);
  }

  end(message: unknown): void {
    this.write(message);
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.connection?.sendEnd();
  }

  cancel(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.connection?.leaveAsClient();
    this.loop.receive(0, () => this.tell({ code: status.CANCELLED, details: 'Cancelled on client' }));
  }

  /** Also closes the connection. */
  hangUp(): void {
    this.cancel();
    this.connection?.leaveAsClient();
  }

  data(bytes: Buffer): void {
    if (!this.isOver) this.listeners.emit('data', bytes);
  }

  /** It is over, for this reason. */
  finish(ended: CallStatus): void {
    if (this.isOver) return;
    this.isOver = true;
    this.tell(ended);
  }

  private tell(ended: CallStatus): void {
    const { listeners } = this;
    if (ended.code !== status.OK)
      listeners.emit('error', Object.assign(new Error(`${ended.code} ${ended.details}`), ended));
    listeners.emit('status', ended);
    // Only a stream whose both directions have ended closes.
    if (this.hasEnded) this.loop.receive(0, () => listeners.emit('close'));
  }
}
