import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { STATUS_OK } from '../../core/action.js';
import { invariant } from '../../core/invariant.js';
import { monotonicNs } from '../clock.js';
import { Signal } from '../signal.js';
import { ExecLine } from './exec-line.js';
import type { ModelHost } from './model-host.js';
import type { HostLine, HostMessage, HostOrder, HostReply, HostReport } from './protocol.js';
import { buffersOf } from './transfer.js';

/**
 * After an INFER the next one is asked for soon, if there is one. The thread looks out for it this long before it
 * blocks: it takes longer to wake (measured gap between two INFERs of 50 µs: 20 µs instead of 52).
 */
const LOOK_OUT_NS = 100_000;

/** Runs on a host what the executor thread asks for, until it is told to stop. An INFER comes before all else. */
export class HostLoop {
  private readonly port: MessagePort;
  private readonly exec: ExecLine;
  private readonly executor: Signal;
  /** INFERs by the id of their action, until they are asked for. */
  private readonly staged = new Map<number, HostOrder>();
  /** LOADs and UNLOADs, in the order they came. */
  private readonly orders: HostOrder[] = [];

  constructor(
    private readonly host: ModelHost,
    /** Raised when there is something to do. */
    private readonly signal: Signal,
    executor: HostLine,
  ) {
    this.port = executor.port;
    this.exec = new ExecLine(executor.exec);
    this.executor = new Signal(executor.signal);
  }

  async run(): Promise<void> {
    const { signal } = this;
    let lookOutUntilNs = 0;
    while (!signal.stopped) {
      const { count } = signal;
      this.drain();
      // Afterwards, so that an UNLOAD that was sent later than this INFER was asked for does not come before it.
      const id = this.exec.asked;
      const order = this.orders[0];
      if (id >= 0) {
        await this.infer(id);
        lookOutUntilNs = monotonicNs() + LOOK_OUT_NS;
      } else if (order !== undefined) await this.perform(order);
      else signal.wait(count, monotonicNs() < lookOutUntilNs ? lookOutUntilNs : Number.POSITIVE_INFINITY);
    }
  }

  private drain(): void {
    for (let next = receiveMessageOnPort(this.port); next !== undefined; ) {
      this.take(next.message);
      next = receiveMessageOnPort(this.port);
    }
  }

  private take(message: HostMessage): void {
    const { staged } = this;
    if (message.kind === 'run') this.orders.push(message.order);
    else if (message.kind === 'stage') staged.set(message.id, message.order);
    else if (message.kind === 'discard') staged.delete(message.id);
    else for (const id of [...staged.keys()]) if (id !== message.id) staged.delete(id);
  }

  private async infer(id: number): Promise<void> {
    // It may have come since.
    if (!this.staged.has(id)) this.drain();
    const order = this.staged.get(id);
    invariant(order !== undefined, 'an INFER is staged before it is asked for');
    this.staged.delete(id);
    const report = await this.host.perform(order);
    invariant(report !== null, 'an INFER is reported');
    // The lane first, for it should not wait for outputs to be sent. But an error has to be there when it is free.
    if (report.status === STATUS_OK) this.end(report);
    this.reply({ kind: 'tensors', id, outputs: report.outputs, error: report.error });
    if (report.status !== STATUS_OK) this.end(report);
  }

  private async perform(order: HostOrder): Promise<void> {
    this.orders.shift();
    const report = await this.host.perform(order);
    if (report !== null) this.reply({ kind: 'loaded', report });
  }

  private end(report: HostReport): void {
    this.exec.end(report);
    this.executor.raise();
  }

  private reply(reply: HostReply): void {
    this.port.postMessage(reply, buffersOf([reply.kind === 'tensors' ? reply.outputs : []]));
    this.executor.raise();
  }
}
