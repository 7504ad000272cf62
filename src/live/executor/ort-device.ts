import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { type ActionKind, INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, UNLOAD } from '../../core/action.js';
import { invariant } from '../../core/invariant.js';
import type { Worker } from '../../core/worker.js';
import type { Device } from './device.js';
import type { LiveAction } from './live-action.js';
import type { HostLine, HostOrder, HostReport } from './protocol.js';
import { Signal } from './signal.js';
import { buffersOf } from './transfer.js';

/**
 * A GPU on which onnxruntime runs the models. Its calls block, so they are left to host threads; each model lives
 * in one of them for good, since a session belongs to the thread that made it.
 */
export class OrtDevice implements Device {
  readonly copies = false;
  readonly signals = true;
  readonly nextEndNs = Number.POSITIVE_INFINITY;
  private readonly hosts: readonly Host[];
  /** What runs, by lane. */
  private readonly running: [LiveAction | null, LiveAction | null] = [null, null];

  constructor(hosts: readonly HostLine[]) {
    this.hosts = hosts.map(({ port, signal }) => ({ port, signal: new Signal(signal) }));
  }

  get busy(): boolean {
    return this.running[LANE_EXEC] !== null || this.running[LANE_WEIGHTS] !== null;
  }

  startExec(action: LiveAction): void {
    this.running[LANE_EXEC] = action;
    this.order(INFER, action);
  }

  startLoad(action: LiveAction): void {
    this.running[LANE_WEIGHTS] = action;
    this.order(LOAD, action);
  }

  unload(model: number): void {
    const none = { batchIndex: 0, count: 0, latestNs: Number.POSITIVE_INFINITY, inputs: [] };
    this.send({ kind: UNLOAD, model, ...none });
  }

  collect(worker: Worker): void {
    for (const { port } of this.hosts) {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        this.ended(next.message, worker);
      }
    }
  }

  startInput(): void {
    // Never asked for: the host thread copies inputs and outputs while the lane is taken.
  }

  startOutput(): void {
    // As above.
  }

  private ended({ lane, status, beginNs, endNs, outputs, error }: HostReport, worker: Worker): void {
    const action = this.running[lane];
    invariant(action !== null, 'a host reports what it was told to run');
    this.running[lane] = null;
    action.beginNs = beginNs;
    action.outputs = outputs;
    action.error = error;
    worker.finished(lane, endNs, 1, status);
  }

  private order(kind: ActionKind, { model, batchIndex, count, latestNs, inputs }: LiveAction): void {
    this.send({ kind, model, batchIndex, count, latestNs, inputs });
  }

  private send(order: HostOrder): void {
    const { port, signal } = this.hosts[order.model % this.hosts.length];
    port.postMessage(order, buffersOf([order.inputs]));
    signal.raise();
  }
}

interface Host {
  readonly port: MessagePort;
  readonly signal: Signal;
}
