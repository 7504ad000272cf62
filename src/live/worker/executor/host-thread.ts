// Entry of a host thread.
import { readFileSync } from 'node:fs';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import { STATUS_OK } from '../../../core/action.js';
import { buffersOf, freeLarge } from '../../parcel.js';
import { Signal } from '../../signal.js';
import { passOnWarnings } from '../../warnings.js';
import { ExecLine } from './exec-line.js';
import { ModelHost } from './model-host.js';
import { OperatorRecorder } from './operator-recorder.js';
import type {
  HostedModel,
  HostLine,
  HostMessage,
  HostModel,
  HostModelOrder,
  HostOrder,
  HostReply,
  HostReport,
  HostThreadData,
  ThreadReport,
} from './protocol.js';
import { RecordSwitch } from './record-switch.js';

/**
 * Time for which the thread polls for the next INFER before it blocks, since it usually follows soon and waking takes
 * longer (measured gap between two INFERs of 50 µs: 20 µs instead of 52).
 */
const LOOK_OUT_NS = 100_000;

/** Multiple of an upkeep step's duration for which INFERs without idle moments run before the next step. */
const PAUSE_AFTER_UPKEEP = 3;

/**
 * Runs the executor thread's orders on a host, until it is stopped. An INFER precedes everything else; upkeep of the
 * sessions is left to idle moments.
 */
class HostThread {
  private readonly port: MessagePort;
  private readonly exec: ExecLine;
  private readonly executor: Signal;
  /** INFERs by the id of their action, until they are requested. */
  private readonly staged = new Map<number, HostOrder>();
  /** LOADs and UNLOADs, in order of arrival. */
  private readonly orders: HostOrder[] = [];
  /** Changes of models. */
  private readonly changes: HostModelOrder[] = [];
  /** Earliest time at which upkeep may delay an INFER again. */
  private upkeepFromNs = 0;

  constructor(
    private readonly host: ModelHost,
    /** Raised when there is something to do. */
    private readonly signal: Signal,
    executor: HostLine,
    private readonly machine: MessagePort,
  ) {
    this.port = executor.port;
    this.exec = new ExecLine(executor.exec);
    this.executor = new Signal(executor.signal);
  }

  async run(): Promise<void> {
    const { host, signal } = this;
    let lookOutUntilNs = 0;
    while (!signal.stopped) {
      const { count } = signal;
      this.drain();
      // Afterwards, so that an UNLOAD sent after this INFER was requested does not precede it.
      const id = this.exec.asked;
      const order = this.orders[0];
      if (id >= 0) {
        await this.infer(id);
        lookOutUntilNs = monotonicNs() + LOOK_OUT_NS;
        // Without an idle moment its turn would never come.
        if (host.hasUpkeep && lookOutUntilNs > this.upkeepFromNs) await this.upkeep();
      } else if (order !== undefined) await this.perform(order);
      else if (this.changes.length > 0) await this.change(this.changes.shift() as HostModelOrder);
      else if (monotonicNs() < lookOutUntilNs) signal.wait(count, lookOutUntilNs);
      else if (this.staged.size === 0 && host.hasUpkeep) await this.upkeep();
      else signal.wait(count, Number.POSITIVE_INFINITY);
    }
  }

  private async upkeep(): Promise<void> {
    const beginNs = monotonicNs();
    await this.host.upkeep();
    const endNs = monotonicNs();
    this.upkeepFromNs = endNs + PAUSE_AFTER_UPKEEP * (endNs - beginNs);
  }

  private drain(): void {
    for (let next = receiveMessageOnPort(this.port); next !== undefined; ) {
      this.take(next.message);
      next = receiveMessageOnPort(this.port);
    }
    for (let next = receiveMessageOnPort(this.machine); next !== undefined; ) {
      this.changes.push(next.message);
      next = receiveMessageOnPort(this.machine);
    }
  }

  private take(message: HostMessage): void {
    const { staged } = this;
    if (message.kind === 'run') this.orders.push(message.order);
    else if (message.kind === 'stage') staged.set(message.order.id, message.order);
    else if (message.kind === 'discard') this.discard(message.id);
    else for (const id of [...staged.keys()]) if (id !== message.id) this.discard(id);
  }

  private discard(id: number): void {
    freeLarge(this.staged.get(id)?.inputs ?? []);
    this.staged.delete(id);
  }

  private async infer(id: number): Promise<void> {
    // It may have arrived since.
    if (!this.staged.has(id)) this.drain();
    const order = this.staged.get(id);
    invariant(order !== undefined, 'an INFER is staged before it is asked for');
    this.staged.delete(id);
    const report = await this.host.perform(order);
    invariant(report !== null, 'an INFER is reported');
    // The lane first, since it must not wait for outputs to be sent. But an error must be there when it is free.
    if (report.status === STATUS_OK) this.end(report);
    const { outputs, shapes, error, inputErrors } = report;
    this.reply({ kind: 'tensors', id, outputs, shapes, error, inputErrors });
    if (report.status !== STATUS_OK) this.end(report);
    freeLarge(order.inputs);
  }

  private async perform(order: HostOrder): Promise<void> {
    this.orders.shift();
    const report = await this.host.perform(order);
    if (report !== null) this.reply({ kind: 'loaded', report });
  }

  private async change(order: HostModelOrder): Promise<void> {
    await this.host.change(order);
    this.machine.postMessage({ kind: 'model', index: order.index } satisfies ThreadReport);
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

passOnWarnings('host');
const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const data = workerData as HostThreadData;

try {
  const control = new RecordSwitch(data.recording);
  const recorder = new OperatorRecorder(control, data.recordFolder, data.host, (report) =>
    machine.postMessage(report),
  );
  const host = new ModelHost(data.device, new Map(data.models.map(read)), recorder);
  await host.probe();
  machine.postMessage({ kind: 'ready' } satisfies ThreadReport);
  await new HostThread(host, new Signal(data.signal), data.executor, machine).run();
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  machine.postMessage({ kind: 'failed', code: error.code, message: error.message } satisfies ThreadReport);
}

function read({ index, model }: HostedModel): [number, HostModel] {
  const { ortPath } = model;
  invariant(ortPath !== null, 'only a simulated device runs a model without weights');
  try {
    // A copy: small files are read into shared memory.
    return [index, { model, bytes: new Uint8Array(readFileSync(ortPath)) }];
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, {
      file: ortPath,
    });
  }
}
