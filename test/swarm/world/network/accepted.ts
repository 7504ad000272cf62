import type { Metadata } from '@grpc/grpc-js';
import type { AcceptedStream } from '../../../../src/live/wire/network.js';
import type { CallStatus, Connection } from './connection.js';
import { Listeners } from './listeners.js';

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
