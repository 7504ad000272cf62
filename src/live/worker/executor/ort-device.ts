import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { LANE_EXEC, LANE_WEIGHTS, UNLOAD } from '../../../core/action.js';
import type { Worker } from '../../../core/worker.js';
import { buffersOf } from '../../parcel.js';
import { Signal } from '../../signal.js';
import type { Device } from './device.js';
import type { LiveAction } from './live-action.js';
import {
  type ExecEnd,
  ExecLine,
  type HostLine,
  type HostMessage,
  type HostOrder,
  type HostReply,
  type HostReport,
} from './protocol.js';

/**
 * A GPU on which onnxruntime runs the models. Its calls block, so they are left to host threads; each model lives in
 * one of them for good, since a session belongs to the thread that created it. INPUT and OUTPUT are the transfers of
 * tensors to that thread and back: they overlap EXEC.
 */
export class OrtDevice implements Device {
  readonly copies = true;
  readonly signals = true;
  private readonly hosts: readonly Host[];
  private copyingIn = false;
  private executing: LiveAction | null = null;
  private loading: LiveAction | null = null;
  private delivering: LiveAction | null = null;
  /** By id: actions executing or executed, without outputs yet. */
  private readonly undelivered = new Map<number, LiveAction>();

  constructor(hosts: readonly HostLine[]) {
    this.hosts = hosts.map(({ port, exec, signal }) => ({
      port,
      exec: new ExecLine(exec),
      signal: new Signal(signal),
      replies: 0,
    }));
  }

  /** Inputs are transferred as soon as they are sent. */
  get nextEndNs(): number {
    return this.copyingIn ? 0 : Number.POSITIVE_INFINITY;
  }

  get busy(): boolean {
    return this.executing !== null || this.loading !== null || this.undelivered.size > 0;
  }

  startInput(action: LiveAction): void {
    action.staged = true;
    this.copyingIn = true;
    post(this.homeOf(action.model), { kind: 'stage', order: orderOf(action) });
    action.inputs = [];
  }

  startExec(action: LiveAction): void {
    action.staged = false;
    this.executing = action;
    this.undelivered.set(action.id, action);
    const home = this.homeOf(action.model);
    home.replies++;
    home.exec.ask(action.id);
    home.signal.raise();
  }

  startOutput(action: LiveAction): void {
    this.delivering = action;
  }

  startLoad(action: LiveAction): void {
    this.loading = action;
    this.homeOf(action.model).replies++;
    post(this.homeOf(action.model), { kind: 'run', order: orderOf(action) });
  }

  unload(model: number): void {
    const none = { id: -1, batchIndex: 0, count: 0, latestNs: Number.POSITIVE_INFINITY, inputs: [] };
    post(this.homeOf(model), { kind: 'run', order: { kind: UNLOAD, model, ...none } });
  }

  discard({ model, id }: LiveAction): void {
    post(this.homeOf(model), { kind: 'discard', id });
  }

  discardWaiting(): void {
    const id = this.executing?.id ?? -1;
    for (const host of this.hosts) post(host, { kind: 'discardOthers', id });
  }

  collect(worker: Worker, nowNs: number): void {
    if (this.copyingIn) {
      this.copyingIn = false;
      worker.copiedIn();
    }
    // Before the messages: an error message precedes the end that it belongs to.
    const end = this.executing === null ? null : this.homeOf(this.executing.model).exec.takeEnd();
    for (const host of this.hosts) if (host.replies > 0) this.drain(host, worker);
    if (end !== null) this.ended(end, worker);
    while (this.delivering?.delivered) {
      this.delivering = null;
      worker.copiedOut(nowNs);
    }
  }

  private ended({ status, beginNs, endNs, copyInNs, copyOutNs }: ExecEnd, worker: Worker): void {
    const action = this.executing;
    invariant(action !== null, 'EXEC ends once');
    this.executing = null;
    action.beginNs = beginNs;
    action.copyInNs = copyInNs;
    action.copyOutNs = copyOutNs;
    worker.finished(LANE_EXEC, endNs, 1, status);
  }

  private drain(host: Host, worker: Worker): void {
    for (let next = receiveMessageOnPort(host.port); next !== undefined; ) {
      host.replies--;
      this.take(next.message, worker);
      next = receiveMessageOnPort(host.port);
    }
  }

  private take(reply: HostReply, worker: Worker): void {
    if (reply.kind === 'loaded') this.loaded(reply.report, worker);
    else {
      const action = this.undelivered.get(reply.id);
      invariant(action !== undefined, 'outputs come once');
      this.undelivered.delete(reply.id);
      action.outputs = reply.outputs;
      action.outputShapes = reply.shapes;
      action.error = reply.error;
      action.inputErrors = reply.inputErrors;
      action.delivered = true;
    }
  }

  private loaded({ status, beginNs, endNs, error }: HostReport, worker: Worker): void {
    const action = this.loading;
    invariant(action !== null, 'LOAD ends once');
    this.loading = null;
    action.beginNs = beginNs;
    action.error = error;
    worker.finished(LANE_WEIGHTS, endNs, 1, status);
  }

  private homeOf(model: number): Host {
    return this.hosts[model % this.hosts.length];
  }
}

interface Host {
  readonly port: MessagePort;
  readonly exec: ExecLine;
  readonly signal: Signal;
  /** Number of outstanding replies. */
  replies: number;
}

function orderOf(action: LiveAction): HostOrder {
  const { id, kind, model, batchIndex, bucket, count, latestNs, inputs, shapes } = action;
  return { id, kind, model, batchIndex, bucket, count, latestNs, inputs, shapes };
}

function post({ port, signal }: Host, message: HostMessage): void {
  port.postMessage(message, buffersOf([message.kind === 'stage' ? message.order.inputs : []]));
  signal.raise();
}
